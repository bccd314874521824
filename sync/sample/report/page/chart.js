// The charts. Each takes the cells of an answer, {value, text}, and gives an element.
import { html, svg } from './element.js';

const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 3 });
const even = new Intl.NumberFormat('en', { notation: 'compact', minimumSignificantDigits: 3, maximumSignificantDigits: 3 });

/** A number in a few characters: percentages stay, large ones get K, M or B. */
export function brief(cell) {
  if (typeof cell.value !== 'number' || cell.text.includes('%')) return cell.text || '–';
  return Math.abs(cell.value) >= 10_000 ? even.format(cell.value) : cell.text;
}

const label = (cell) => (cell.text === '' ? '(Blank)' : cell.text);

/** The names of the series of a chart, and its rows by the axis. */
function bySeries(visual, rows) {
  if (!visual.series) {
    return {
      names: visual.values.map((v) => ({ text: v.measure })),
      points: rows.map((row) => ({ axis: row[0], cells: row.slice(1) })),
    };
  }
  const names = [];
  const points = [];
  for (const [axis, series, cell] of rows) {
    let at = names.findIndex((name) => name.value === series.value);
    if (at < 0) at = names.push(series) - 1;
    let point = points.find((p) => p.axis.value === axis.value);
    if (!point) points.push((point = { axis, cells: [] }));
    point.cells[at] = cell;
  }
  const order = names.map((_, i) => i).sort((a, b) => (label(names[a]) < label(names[b]) ? -1 : 1));
  return {
    names: order.map((i) => ({ ...names[i], text: label(names[i]) })),
    points: points.map((p) => ({ axis: p.axis, cells: order.map((i) => p.cells[i] ?? { value: null, text: '' }) })),
  };
}

const legend = (names) =>
  names.length < 2
    ? undefined
    : html('ul', { class: 'legend' }, ...names.map((name, i) => html('li', {}, html('i', { class: `swatch series-${i % 8}` }), name.text)));

export function card(_, answer) {
  const cell = answer.rows[0]?.[0] ?? { value: null, text: '' };
  const short = brief(cell);
  return html(
    'p',
    { class: 'card-value' },
    html('span', { class: 'large', 'aria-hidden': short !== cell.text && cell.text !== '' ? 'true' : undefined }, short),
    short === cell.text || cell.text === '' ? undefined : html('span', { class: 'exact' }, cell.text),
  );
}

/** Horizontal bars in a table, so that they are read as what they are. */
export function bar(visual, answer, { selected, select }) {
  const { names, points } = bySeries(visual, answer.rows);
  const most = Math.max(0, ...points.flatMap((p) => p.cells.map((c) => Math.abs(c.value ?? 0))));
  const row = (point) => {
    const chosen = selected(point.axis.value);
    const bars = point.cells.map((cell, i) =>
      html(
        'div',
        { class: 'bar-line', title: `${label(point.axis)}${names.length > 1 ? `, ${names[i].text}` : ''}: ${cell.text || '–'}` },
        html('span', { class: `bar series-${i % 8}` }),
        names.length > 1 ? html('span', { class: 'unseen' }, names[i].text) : undefined,
        html('span', { class: 'bar-text' }, brief(cell)),
      ),
    );
    bars.forEach((line, i) => {
      line.firstChild.hidden = point.cells[i].value === null;
      const share = most === 0 ? 0 : Math.abs(point.cells[i].value ?? 0) / most;
      line.firstChild.style.inlineSize = `calc(${share} * (100% - 4.75rem))`;
    });
    const press = () => select(point.axis, point.cells[0]);
    return html(
      'tr',
      { class: chosen === undefined ? undefined : chosen ? 'chosen' : 'faded' },
      html('th', { scope: 'row' }, html('button', { type: 'button', 'aria-pressed': String(chosen === true), onclick: press }, label(point.axis))),
      html('td', {}, ...bars),
    );
  };
  return html(
    'div',
    { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': visual.title },
    legend(names),
    html('table', { class: 'bars' }, html('tbody', {}, ...points.map(row))),
  );
}

/** Steps of 1, 2, 2.5 or 5 times a power of ten that hold the values. */
function ticks(low, high) {
  const span = high - low || Math.abs(high) || 1;
  const power = 10 ** Math.floor(Math.log10(span / 4));
  const step = [1, 2, 2.5, 5, 10].map((n) => n * power).find((n) => span / n <= 5);
  const list = [];
  for (let at = Math.floor(low / step); at * step < high + step * 0.999; at++) list.push(at * step);
  return list;
}

/** Lines over an axis, drawn anew for each width. */
export function line(visual, answer) {
  const { names, points } = bySeries(visual, answer.rows);
  const percent = answer.rows[0]?.at(-1)?.text.includes('%') ?? false;
  const write = (n) => (percent ? `${Math.round(n * 1000) / 10}%` : compact.format(n));
  const box = html('div', { class: 'line', 'aria-hidden': 'true' });
  const tip = html('div', { class: 'tip', hidden: true });
  const draw = () => {
    const width = box.clientWidth;
    if (width > 0) box.replaceChildren(lineSVG(width, 220, names, points, write, tip), tip);
  };
  new ResizeObserver(draw).observe(box);
  const head = html('tr', {}, html('th', { scope: 'col' }, visual.rows[0].column), ...names.map((n) => html('th', { scope: 'col' }, n.text)));
  const body = points.map((p) => html('tr', {}, html('th', { scope: 'row' }, label(p.axis)), ...p.cells.map((c) => html('td', {}, c.text))));
  const table = html('div', { class: 'unseen' }, html('table', {}, html('thead', {}, head), html('tbody', {}, ...body)));
  return html('div', { class: 'chart' }, legend(names), box, table);
}

function lineSVG(width, height, names, points, write, tip) {
  const values = points.flatMap((p) => p.cells.map((c) => c.value ?? 0));
  const scale = ticks(Math.min(0, ...values), Math.max(0, ...values));
  const left = 52;
  const right = 14;
  const top = 10;
  const bottom = 26;
  const [low, high] = [scale[0], scale.at(-1)];
  const x = (i) => left + (points.length < 2 ? 0.5 : i / (points.length - 1)) * (width - left - right);
  const y = (v) => top + (1 - (v - low) / (high - low || 1)) * (height - top - bottom);
  const grid = scale.map((v) =>
    svg(
      'g',
      {},
      svg('line', { class: v === 0 ? 'zero' : 'grid', x1: left, x2: width - right, y1: y(v), y2: y(v) }),
      svg('text', { class: 'tick', x: left - 8, y: y(v) + 4, 'text-anchor': 'end' }, write(v)),
    ),
  );
  const fewest = points.length / Math.max(2, Math.floor((width - left) / 68));
  const every = [1, 2, 3, 4, 6, 12, 24].find((n) => n >= fewest) ?? Math.ceil(fewest); // so that months fall on the same ones each year
  const axis = points.map((p, i) =>
    i % every === 0 ? svg('text', { class: 'tick', x: x(i), y: height - 6, 'text-anchor': 'middle' }, label(p.axis)) : undefined,
  );
  const paths = names.map((_, s) => {
    let d = '';
    points.forEach((p, i) => {
      const v = p.cells[s]?.value;
      if (typeof v === 'number') d += `${d === '' || typeof points[i - 1]?.cells[s]?.value !== 'number' ? 'M' : 'L'}${x(i)} ${y(v)}`;
    });
    return svg('path', { class: `curve stroke-${s % 8}`, d });
  });
  let area;
  if (names.length === 1 && points.length > 1) {
    const edge = points.map((p, i) => `${x(i)} ${y(p.cells[0].value ?? 0)}`).join('L');
    area = svg('path', { class: 'area', d: `M${x(0)} ${y(0)}L${edge}L${x(points.length - 1)} ${y(0)}Z` });
  }
  const guide = svg('line', { class: 'guide', y1: top, y2: height - bottom, visibility: 'hidden' });
  const dots = names.map((_, s) => svg('circle', { class: `dot series-${s % 8}`, r: 4, visibility: 'hidden' }));
  const chart = svg('svg', { viewBox: `0 0 ${width} ${height}`, width, height }, ...grid, ...axis.filter(Boolean), area, ...paths, guide, ...dots);
  chart.addEventListener('pointermove', (event) => {
    const at = event.clientX - chart.getBoundingClientRect().left;
    const i = Math.min(points.length - 1, Math.max(0, Math.round(((at - left) / (width - left - right)) * (points.length - 1))));
    if (!points[i]) return;
    guide.setAttribute('x1', x(i));
    guide.setAttribute('x2', x(i));
    guide.setAttribute('visibility', 'visible');
    dots.forEach((dot, s) => {
      const v = points[i].cells[s]?.value;
      dot.setAttribute('visibility', typeof v === 'number' ? 'visible' : 'hidden');
      dot.setAttribute('cx', x(i));
      dot.setAttribute('cy', y(v ?? 0));
    });
    const lines = names.map((n, s) => html('div', {}, html('i', { class: `swatch series-${s % 8}` }), `${n.text}: ${points[i].cells[s]?.text || '–'}`));
    tip.replaceChildren(html('b', {}, label(points[i].axis)), ...lines);
    tip.hidden = false;
    tip.style.insetInlineStart = `${Math.min(x(i) + 12, Math.max(0, width - tip.offsetWidth - 4))}px`;
  });
  chart.addEventListener('pointerleave', () => {
    tip.hidden = true;
    for (const mark of [guide, ...dots]) mark.setAttribute('visibility', 'hidden');
  });
  return chart;
}

const number = (cell) => html('td', { class: typeof cell.value === 'number' ? 'number' : undefined }, cell.text);

export function table(visual, answer) {
  const head = [...visual.rows.map((r) => [r.column, false]), ...visual.values.map((v) => [v.measure, true])];
  const rows = answer.rows.map((row) =>
    html('tr', {}, ...row.map((cell, i) => (i === 0 ? html('th', { scope: 'row' }, label(cell)) : i < visual.rows.length ? html('td', {}, label(cell)) : number(cell)))),
  );
  const total = answer.total && html('tr', {}, html('th', { scope: 'row', colspan: visual.rows.length }, 'Total'), ...answer.total.map(number));
  return scrolled(visual, answer, head, rows, total);
}

/** The values of the series across; the totals are computed, not added up. */
export function matrix(visual, answer) {
  const width = visual.rows.length;
  const key = (cells) => JSON.stringify(cells.map((c) => c.value));
  const columns = [];
  const lines = new Map();
  for (const row of answer.rows) {
    const group = row.slice(0, width);
    const column = row[width];
    if (!columns.some((c) => c.value === column.value)) columns.push(column);
    if (!lines.has(key(group))) lines.set(key(group), { group, cells: new Map() });
    lines.get(key(group)).cells.set(column.value, row[width + 1]);
  }
  columns.sort((a, b) => (a.value === b.value ? 0 : a.value === null || (b.value !== null && a.value < b.value) ? -1 : 1));
  const blank = { value: null, text: '' };
  const rowTotals = new Map((answer.rowTotals ?? []).map((row) => [key(row.slice(0, width)), row[width]]));
  const columnTotals = new Map((answer.columnTotals ?? []).map((row) => [row[0].value, row[1]]));
  const head = [...visual.rows.map((r) => [r.column, false]), ...columns.map((c) => [label(c), true]), ['Total', true]];
  const rows = [...lines.entries()].map(([at, { group, cells }]) =>
    html(
      'tr',
      {},
      ...group.map((cell, i) => (i === 0 ? html('th', { scope: 'row' }, label(cell)) : html('td', {}, label(cell)))),
      ...columns.map((c) => number(cells.get(c.value) ?? blank)),
      html('td', { class: 'number sum' }, (rowTotals.get(at) ?? blank).text),
    ),
  );
  const total = html(
    'tr',
    {},
    html('th', { scope: 'row', colspan: width }, 'Total'),
    ...columns.map((c) => number(columnTotals.get(c.value) ?? blank)),
    html('td', { class: 'number sum' }, (answer.total?.[0] ?? blank).text),
  );
  return scrolled(visual, answer, head, rows, total);
}

function scrolled(visual, answer, head, rows, total) {
  const table = html(
    'table',
    { class: 'grid-table' },
    html('thead', {}, html('tr', {}, ...head.map(([text, isNumber]) => html('th', { scope: 'col', class: isNumber ? 'number' : undefined }, text)))),
    html('tbody', {}, ...rows),
    total && html('tfoot', {}, total),
  );
  return html(
    'div',
    { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': visual.title },
    table,
    answer.cut ? html('p', { class: 'cut' }, `The first ${answer.rows.length} rows are shown.`) : undefined,
  );
}

/** The values of a column as buttons, or as a list where there are many. */
export function slicer(visual, answer, { selected, select }) {
  const cells = answer.rows.map((row) => row[0]);
  if (cells.length > 14) {
    const options = cells.map((cell, i) => html('option', { value: i, selected: selected(cell.value) === true }, label(cell)));
    const choose = (event) => select(event.target.value === '' ? undefined : cells[Number(event.target.value)]);
    return html('select', { 'aria-label': visual.title, onchange: choose }, html('option', { value: '' }, 'All'), ...options);
  }
  const pill = (cell) =>
    html('button', { type: 'button', 'aria-pressed': String(selected(cell.value) === true), onclick: () => select(cell) }, label(cell));
  return html('div', { class: 'pills', role: 'group', 'aria-label': visual.title }, ...cells.map(pill));
}
