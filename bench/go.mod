module github.com/cadre-go/cadre/bench

go 1.26.0

require github.com/cadre-go/cadre v0.0.0

require github.com/alitto/pond/v2 v2.7.1

replace github.com/cadre-go/cadre => ../
