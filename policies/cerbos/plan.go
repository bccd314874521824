package cerbos

import (
	"fmt"

	enginev1 "github.com/cerbos/cerbos/api/genpb/cerbos/engine/v1"

	"github.com/pbmb/pbmb/policies"
)

// readPlan turns Cerbos' filter into ours. What it does not know is an error, and
// so never allows.
func readPlan(f *enginev1.PlanResourcesFilter) (policies.Plan, error) {
	switch f.GetKind() {
	case enginev1.PlanResourcesFilter_KIND_ALWAYS_DENIED:
		return policies.Plan{Kind: policies.Never}, nil
	case enginev1.PlanResourcesFilter_KIND_ALWAYS_ALLOWED:
		return policies.Plan{Kind: policies.Always}, nil
	case enginev1.PlanResourcesFilter_KIND_CONDITIONAL:
		cond, err := readOperand(f.GetCondition())
		if err != nil {
			return policies.Plan{}, err
		}
		return policies.Plan{Kind: policies.Conditional, Cond: cond}, nil
	}
	return policies.Plan{}, fmt.Errorf("a plan of the unknown kind %s", f.GetKind())
}

func readOperand(o *enginev1.PlanResourcesFilter_Expression_Operand) (*policies.Expr, error) {
	switch n := o.GetNode().(type) {
	case *enginev1.PlanResourcesFilter_Expression_Operand_Variable:
		return &policies.Expr{Var: n.Variable}, nil
	case *enginev1.PlanResourcesFilter_Expression_Operand_Value:
		return &policies.Expr{Value: n.Value.AsInterface()}, nil
	case *enginev1.PlanResourcesFilter_Expression_Operand_Expression:
		e := &policies.Expr{Op: n.Expression.GetOperator(), Args: make([]*policies.Expr, len(n.Expression.GetOperands()))}
		for i, operand := range n.Expression.GetOperands() {
			var err error
			if e.Args[i], err = readOperand(operand); err != nil {
				return nil, err
			}
		}
		return e, nil
	}
	return nil, fmt.Errorf("a plan with the unknown node %T", o.GetNode())
}
