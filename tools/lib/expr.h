/* Arithmetic in task.json: shapes, counts, bytes, flops. Grammar:
 *     expr = term { ("+"|"-") term } ;  term = unary { ("*"|"/"|"%") unary } ;  unary = ["-"] atom ;
 *     atom = number | name | name "(" expr {"," expr} ")" | "(" expr ")"
 * Values are doubles; functions: min, max, cdiv(a,b), floor(a), ceil(a), pow(a,b). Unknown names are errors. */
#ifndef EXPR_H
#define EXPR_H
#include "die.h"

struct var {
	const char *name;
	double value;
};
int expr_eval(const char *text, const struct var *vars, int n, double *out, struct err *e);
#endif
