package store

// Read is no writing.
const Read = "select element_id from book_change"

// Rename records a change by itself.
const Rename = "insert INTO book_change (element_kind) values ($1)" // want "records a change of the book"
