" Graphs and jobs of graphrun: the fields of a .pbtxt file, and the equations in its texts.
if exists('b:current_syntax')
  finish
endif

syntax match graphrunComment /#.*/ contains=@Spell
syntax match graphrunField /\<\l[a-z0-9_]*\ze\s*[:{]/
syntax match graphrunChoice /\<\u[A-Z0-9_]*\>/
syntax keyword graphrunTruth true false
syntax match graphrunNumber /[-+]\?\<\d\+\(\.\d\+\)\?\([eE][-+]\?\d\+\)\?\>/

syntax region graphrunEquation matchgroup=graphrunQuote start=/"/ skip=/\\./ end=/"/ oneline contains=@graphrunPart
syntax region graphrunProse start=/\%(\<\%(doc\|name\|train\|valid\|test\|vectors\|model\|match\|file\)\s*:\s*\)\@<="/ skip=/\\./ end=/"/ oneline contains=@Spell

syntax cluster graphrunPart contains=graphrunWord,graphrunPath,graphrunKeyword,graphrunTruth,graphrunFunction,graphrunAttribute,graphrunNumber,graphrunOperator
syntax match graphrunOperator /\*\*\|[=!<>]=\|[-+*\/@<>=]/ contained
syntax match graphrunAttribute /\<\l\w*\ze=[^=]/ contained
syntax match graphrunFunction /\<\h\w*\ze(/ contained
syntax match graphrunPath /[A-Za-z0-9_.\/-]\+\.pbtxt\>/ contained
syntax match graphrunWord /'[^'"]*'/ contained
syntax keyword graphrunKeyword if else and or not contained

highlight default link graphrunComment Comment
highlight default link graphrunField Identifier
highlight default link graphrunChoice Constant
highlight default link graphrunTruth Boolean
highlight default link graphrunNumber Number
highlight default link graphrunQuote Delimiter
highlight default link graphrunProse String
highlight default link graphrunOperator Operator
highlight default link graphrunAttribute Special
highlight default link graphrunFunction Function
highlight default link graphrunPath Include
highlight default link graphrunWord String
highlight default link graphrunKeyword Keyword

let b:current_syntax = 'graphrun'
