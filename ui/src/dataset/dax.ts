// quoted writes a name as a DAX string.
const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`;

// measureReference writes a measure's name as DAX refers to it.
export const measureReference = (name: string) => `[${name.replaceAll("]", "]]")}]`;

// measureQuery is a query for the value of one measure.
export const measureQuery = (name: string) => `EVALUATE\nROW ( ${quoted(name)}, ${measureReference(name)} )`;
