-- It would end the program.
os.exit(0)
