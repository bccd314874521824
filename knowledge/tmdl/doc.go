// Package tmdl reads semantic models as people keep them: folders of TMDL files
// and TMSL files (.bim). It reads what queries, security and documentation need
// (tables, columns, measures, calculation groups, relationships, roles,
// functions) and passes over the rest: where the rows come from, hierarchies,
// perspectives, translations and annotations.
package tmdl
