-- verdict: compile_error
-- says: there is no language 'fortran'
-- hint: languages: cuda, ptx, rust, triton
return { lang = "fortran" }
