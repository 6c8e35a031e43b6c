module github.com/cadre-go/cadre/bench

go 1.26.0

require github.com/cadre-go/cadre v0.0.0

require (
	github.com/alitto/pond/v2 v2.7.1
	github.com/jackc/puddle/v2 v2.2.3
)

require golang.org/x/sync v0.1.0 // indirect

replace github.com/cadre-go/cadre => ../
