autocmd BufNewFile,BufRead *.pbtxt set filetype=graphrun
