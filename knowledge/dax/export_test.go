package dax

// Outline is what tests compare trees by.
var Outline = outline
