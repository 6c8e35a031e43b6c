package fold

// Causes are two reasons for one thing. Unlike what errors.Join makes, it is a
// type of the fold's own: the shell looks into it without calling foreign code.
type Causes [2]error

func (*Causes) Error() string { return "more than one cause" }

// Unwrap returns both.
func (c *Causes) Unwrap() []error { return c[:] }
