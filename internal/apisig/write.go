package apisig

import (
	"fmt"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"

	"github.com/cadre-go/cadre/internal/modtree"
)

// A writer turns one package's exported objects into lines.
type writer struct {
	pkg   *types.Package
	rhs   map[token.Pos]types.Type
	lines []string
	leaks []string

	// internal is set when a type of an internal package is written, and
	// cleared when the line is complete.
	internal bool
}

// line records one declaration. Its arguments have been written already.
func (w *writer) line(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	w.lines = append(w.lines, line)
	if w.internal {
		w.leaks = append(w.leaks, line)
		w.internal = false
	}
}

func (w *writer) writePackage() {
	scope := w.pkg.Scope()
	for _, name := range scope.Names() {
		obj := scope.Lookup(name)
		if !obj.Exported() {
			continue
		}
		switch obj := obj.(type) {
		case *types.Const:
			if b, ok := obj.Type().(*types.Basic); ok && b.Info()&types.IsUntyped != 0 {
				w.line("const %s = %s", name, obj.Val().ExactString())
			} else {
				w.line("const %s %s = %s", name, w.typ(obj.Type()), obj.Val().ExactString())
			}
		case *types.Var:
			w.line("var %s %s", name, w.typ(obj.Type()))
		case *types.Func:
			sig := obj.Signature()
			w.line("func %s%s%s", name, w.typeParams(sig.TypeParams()), w.signature(sig))
		case *types.TypeName:
			w.typeName(obj)
		}
	}
}

// typeName records a type with its fields and methods.
func (w *writer) typeName(obj *types.TypeName) {
	if alias, ok := obj.Type().(*types.Alias); ok && obj.IsAlias() {
		w.line("type %s%s = %s", obj.Name(), w.typeParams(alias.TypeParams()), w.typ(alias.Rhs()))
		return
	}
	named := obj.Type().(*types.Named)
	// The underlying type of "type T internal.U" no longer tells of U.
	if rhs, ok := w.rhs[obj.Pos()]; ok && rhs != named.Underlying() {
		w.typ(rhs)
	}
	head := "type " + obj.Name() + w.typeParams(named.TypeParams())
	switch u := named.Underlying().(type) {
	case *types.Struct:
		w.line("%s struct", head)
		w.fields("type "+obj.Name()+" struct", named, u, nil, nil)
	case *types.Interface:
		w.iface(head, "type "+obj.Name()+" interface", u)
		return
	default:
		w.line("%s %s", head, w.typ(u))
	}
	w.methods(named)
}

// fields records the exported fields of a struct. Those of an embedded struct
// with an unexported name are promoted, hence the caller's too: index says where
// in named the struct is, and through is the embedded types on the way. A struct
// may hold a pointer to itself, which promotes nothing that it has not got.
func (w *writer) fields(prefix string, named *types.Named, st *types.Struct, index []int, through []types.Type) {
	for i := range st.NumFields() {
		f, at := st.Field(i), append(slices.Clip(index), i)
		if f.Exported() {
			// A field that a shallower one hides is not promoted, nor is
			// one that is there twice.
			if got, where, _ := types.LookupFieldOrMethod(named, true, w.pkg, f.Name()); got == nil || !slices.Equal(where, at) {
				continue
			}
		}
		switch {
		case f.Embedded() && f.Exported():
			w.line("%s, embedded %s", prefix, w.typ(f.Type()))
		case f.Embedded():
			if text := w.typ(f.Type()); w.internalType(f.Type()) {
				w.internal = true
				w.line("%s, embedded %s", prefix, text)
				continue
			}
			w.internal = false // type arguments that nobody outside can see
			t := deref(f.Type())
			if generic, ok := t.(*types.Named); ok {
				t = generic.Origin()
			}
			inner, ok := deref(f.Type()).Underlying().(*types.Struct)
			if ok && !slices.Contains(through, t) {
				w.fields(prefix, named, inner, at, append(slices.Clip(through), t))
			}
		case f.Exported():
			w.line("%s, %s %s", prefix, f.Name(), w.typ(f.Type()))
		}
	}
}

// internalType reports whether t, behind aliases and pointers, is declared in
// an internal package.
func (w *writer) internalType(t types.Type) bool {
	named, ok := deref(t).(*types.Named)
	return ok && named.Obj().Pkg() != nil && modtree.Internal(named.Obj().Pkg().Path())
}

func deref(t types.Type) types.Type {
	t = types.Unalias(t)
	if p, ok := t.(*types.Pointer); ok {
		t = types.Unalias(p.Elem())
	}
	return t
}

// methods records the exported methods of a type, and those that an embedded
// field with an unexported name promotes. What an exported embedded field
// promotes is said by its own line.
func (w *writer) methods(named *types.Named) {
	values := types.NewMethodSet(named)
	all := types.NewMethodSet(types.NewPointer(named))
	for sel := range all.Methods() {
		fn := sel.Obj().(*types.Func)
		if !fn.Exported() {
			continue
		}
		if path := sel.Index(); len(path) > 1 {
			if named.Underlying().(*types.Struct).Field(path[0]).Exported() {
				continue
			}
		}
		recv := named.Obj().Name()
		params := fn.Signature().RecvTypeParams() // a method may name them its own way
		if len(sel.Index()) > 1 {
			params = named.TypeParams()
		}
		var names []string
		for p := range params.TypeParams() {
			names = append(names, p.Obj().Name())
		}
		if len(names) > 0 {
			recv += "[" + strings.Join(names, ", ") + "]"
		}
		if values.Lookup(w.pkg, fn.Name()) == nil {
			recv = "*" + recv
		}
		w.line("method (%s) %s%s", recv, fn.Name(), w.signature(sel.Type().(*types.Signature)))
	}
}

// iface records an interface, a method a line. One with an unexported method
// says so, since nobody else can implement it; a constraint stays in one line.
func (w *writer) iface(head, prefix string, it *types.Interface) {
	if !it.IsMethodSet() {
		w.line("%s %s", head, w.typ(it))
		return
	}
	var names []string
	closed := false
	for m := range it.Methods() {
		if !m.Exported() {
			closed = true
			continue
		}
		names = append(names, m.Name())
	}
	if closed {
		names = append(names, "unexported methods")
	}
	if len(names) == 0 {
		w.line("%s interface {}", head)
	} else {
		w.line("%s interface { %s }", head, strings.Join(names, ", "))
	}
	for m := range it.Methods() {
		if m.Exported() {
			w.line("%s, %s%s", prefix, m.Name(), w.signature(m.Signature()))
		}
	}
}

// typeParams writes "[K comparable, V any]", or nothing.
func (w *writer) typeParams(list *types.TypeParamList) string {
	if list.Len() == 0 {
		return ""
	}
	var b strings.Builder
	last := ""
	for i := range list.Len() {
		p := list.At(i)
		bound := w.typ(p.Constraint())
		if i > 0 {
			if bound != last {
				b.WriteString(" " + last)
			}
			b.WriteString(", ")
		}
		b.WriteString(p.Obj().Name())
		last = bound
	}
	return "[" + b.String() + " " + last + "]"
}

// signature writes parameters and results, without their names.
func (w *writer) signature(sig *types.Signature) string {
	var in []string
	for i := range sig.Params().Len() {
		t := sig.Params().At(i).Type()
		if sig.Variadic() && i == sig.Params().Len()-1 {
			in = append(in, "..."+w.typ(t.(*types.Slice).Elem()))
			continue
		}
		in = append(in, w.typ(t))
	}
	var out []string
	for v := range sig.Results().Variables() {
		out = append(out, w.typ(v.Type()))
	}
	text := "(" + strings.Join(in, ", ") + ")"
	switch len(out) {
	case 0:
		return text
	case 1:
		return text + " " + out[0]
	}
	return text + " (" + strings.Join(out, ", ") + ")"
}

// typ writes a type as a reader of the package would, and notes a type of an
// internal package in passing.
func (w *writer) typ(t types.Type) string {
	switch t := t.(type) {
	case *types.Alias:
		return w.name(t.Obj(), t.TypeArgs())
	case *types.Named:
		return w.name(t.Obj(), t.TypeArgs())
	case *types.TypeParam:
		return t.Obj().Name()
	case *types.Pointer:
		return "*" + w.typ(t.Elem())
	case *types.Slice:
		return "[]" + w.typ(t.Elem())
	case *types.Array:
		return "[" + strconv.FormatInt(t.Len(), 10) + "]" + w.typ(t.Elem())
	case *types.Map:
		return "map[" + w.typ(t.Key()) + "]" + w.typ(t.Elem())
	case *types.Chan:
		elem := w.typ(t.Elem())
		switch t.Dir() {
		case types.SendOnly:
			return "chan<- " + elem
		case types.RecvOnly:
			return "<-chan " + elem
		}
		if strings.HasPrefix(elem, "<-") {
			elem = "(" + elem + ")"
		}
		return "chan " + elem
	case *types.Signature:
		return "func" + w.signature(t)
	case *types.Struct:
		var parts []string
		for f := range t.Fields() {
			if f.Embedded() {
				parts = append(parts, w.typ(f.Type()))
			} else {
				parts = append(parts, f.Name()+" "+w.typ(f.Type()))
			}
		}
		return braces("struct", parts)
	case *types.Interface:
		var parts []string
		for m := range t.ExplicitMethods() {
			parts = append(parts, m.Name()+w.signature(m.Signature()))
		}
		for e := range t.EmbeddedTypes() {
			parts = append(parts, w.typ(e))
		}
		if t.IsImplicit() {
			return strings.Join(parts, "; ")
		}
		return braces("interface", parts)
	case *types.Union:
		var parts []string
		for term := range t.Terms() {
			tilde := ""
			if term.Tilde() {
				tilde = "~"
			}
			parts = append(parts, tilde+w.typ(term.Type()))
		}
		return strings.Join(parts, " | ")
	default: // a *types.Basic
		return t.String()
	}
}

func braces(keyword string, parts []string) string {
	if len(parts) == 0 {
		return keyword + "{}"
	}
	return keyword + "{ " + strings.Join(parts, "; ") + " }"
}

// name writes a declared type, qualified unless it is the package's own.
func (w *writer) name(obj *types.TypeName, args *types.TypeList) string {
	text := obj.Name()
	if pkg := obj.Pkg(); pkg != nil && pkg != w.pkg {
		text = pkg.Name() + "." + text
		if modtree.Internal(pkg.Path()) {
			w.internal = true
		}
	}
	if args.Len() == 0 {
		return text
	}
	var list []string
	for arg := range args.Types() {
		list = append(list, w.typ(arg))
	}
	return text + "[" + strings.Join(list, ", ") + "]"
}
