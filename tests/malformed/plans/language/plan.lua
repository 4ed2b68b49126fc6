-- verdict: unsupported
-- says: lang: 'fortran' is not in this version
-- hint: languages: cuda, ptx
return { lang = "fortran" }
