// What is open: the report, its active page, and the filters on them.
import { Refused, notFound, notSupported } from './protocol.js';

const sameColumn = (a, b) => a?.table === b?.table && a?.column === b?.column && a?.table !== undefined;

/** The operations of powerbi-models' FiltersOperations. */
const operations = { 0: 'RemoveAll', 1: 'ReplaceAll', 2: 'Add', 3: 'Replace' };

/** A list of filters after an operation on it. */
export function changeFilters(list, operation, given = []) {
  if (!Array.isArray(given)) throw new Refused(400, 'invalidFilters', 'filters must be a list.');
  switch (operations[operation] ?? operation) {
    case 'RemoveAll':
      return [];
    case 'ReplaceAll':
      return given;
    case 'Add':
      return [...list, ...given];
    case 'Replace':
      return [...list.filter((old) => !given.some((f) => sameColumn(f.target, old.target))), ...given];
  }
  throw notSupported(`the filters operation ${operation}`);
}

const basic = (target, values) => ({
  $schema: 'http://powerbi.com/product/schema#basic',
  target: { table: target.table, column: target.column },
  filterType: 1,
  operator: 'In',
  values,
});

export class State {
  constructor(description, { pageName, filters }) {
    this.report = description;
    this.filters = changeFilters(description.filters, 'Replace', filters);
    this.pages = description.pages.map((page) => ({
      ...page,
      filters: page.filters,
      visuals: page.visuals.map((visual) => ({ ...visual, filters: [], slice: [] })),
    }));
    this.active = pageName ? this.page(pageName) : this.pages[0];
    this.selection = undefined; // a bar that was pressed: {visual, value}
  }

  page(name) {
    const page = this.pages.find((p) => p.name === name);
    if (!page) throw notFound(`page ${name}`);
    return page;
  }

  visual(pageName, name) {
    const visual = this.page(pageName).visuals.find((v) => v.name === name);
    if (!visual) throw notFound(`visual ${name} on this page`);
    return visual;
  }

  /** The filters on a visual of the active page, but those of its own definition. */
  filtersOn(visual) {
    const page = this.active;
    const others = page.visuals.filter((v) => v !== visual).flatMap((v) => v.slice);
    const chosen = this.selection && this.selection.visual !== visual ? [basic(this.selection.visual.rows[0], [this.selection.value])] : [];
    return [...this.filters, ...page.filters, ...others, ...visual.filters, ...chosen];
  }

  /** Presses a value of a slicer: it is taken in, or out again. */
  slice(visual, cell, alone) {
    const before = visual.slice[0]?.values ?? [];
    let values = [];
    if (cell && alone) values = [cell.value];
    else if (cell) values = before.includes(cell.value) ? before.filter((v) => v !== cell.value) : [...before, cell.value];
    visual.slice = values.length === 0 ? [] : [basic(visual.rows[0], values)];
  }

  /** Presses a bar: the other visuals show its rows only, or all again. */
  choose(visual, value) {
    const again = this.selection?.visual === visual && this.selection.value === value;
    this.selection = again ? undefined : { visual, value };
  }
}

/** A filter in words. */
export function inWords(filter) {
  const name = filter.target?.column ?? filter.target?.measure ?? 'a field';
  const list = (values) => values.map((v) => (v === null || v === '' ? '(Blank)' : String(v))).join(', ');
  if (filter.conditions) {
    return `${name} ${filter.conditions.map((c) => `${c.operator} ${c.value ?? ''}`.trim()).join(` ${filter.logicalOperator} `)}`;
  }
  if (filter.operator === 'All') return `${name} is anything`;
  return `${name} is ${filter.operator === 'NotIn' ? 'not ' : ''}${list(filter.values ?? [])}`;
}
