module m
require (
	github.com/a/b v1.2.4-0.20191109021931-daa7c04131f5 // indirect
)
replace golang.org/x/c/d => gopkg.in/e.v2 v2.0.0
