-- It returns no task.
return 7
