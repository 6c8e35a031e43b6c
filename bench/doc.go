// Package bench compares this module with its peers, side by side in one run;
// see README.md.
package bench
