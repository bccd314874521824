// Package embedding turns texts into vectors of which those of like meaning are
// near each other: the model behind the sample tenant's embeddings endpoint. It
// computes on this machine, and gives the same numbers on every machine.
//
// A text is cut into words, a word is looked up among 30,000 English ones and what
// glossary.txt says of this field (words.md tells where their vectors come from),
// and the vector of the text is the sum of its words', in which rare words count
// for more than frequent ones. A word that is not known is understood by its stem,
// by the known words that it is made of, and by its spelling.
//
// It knows English and the terms of business intelligence. It does not know the
// order of words, and words of other languages are near each other by spelling
// alone. Package cut makes words.bin.
package embedding
