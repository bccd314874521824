// The page that draws a report: what the embedding page asks is put into the
// state, and the visuals are drawn from the rows that the tenant gives the token.
import * as chart from './chart.js';
import { html } from './element.js';
import { Line, Refused, newID, notFound, notSupported } from './protocol.js';
import { State, changeFilters, inWords } from './state.js';

const main = document.querySelector('main');
const line = new Line(document.body.dataset.embeddedBy.split(' '));

let token; // {value, type}
let state;
let settings = {};
let config; // of the last load
let loading; // aborts what is being loaded
let drawing; // aborts what is being drawn
let tokenFailed = false;

/** A problem of the tenant's answers, in the shape of the library's errors. */
class Failed extends Error {
  constructor(answer, problem, requestId) {
    super(problem.code);
    this.status = answer;
    this.detail = {
      message: problem.code,
      detailedMessage: problem.message,
      errorCode: String(answer),
      level: 6,
      technicalDetails: { requestId },
    };
  }
}

/** Asks the tenant with the token. Whose rows it gives is the token's matter alone. */
async function ask(path, body, signal) {
  const response = await fetch(`/reportEmbed/explore/${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      authorization: `${token.type === 1 ? 'EmbedToken' : 'Bearer'} ${token.value}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    body: body === undefined ? undefined : JSON.stringify(body),
    credentials: 'omit',
    signal,
  });
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) {
    throw new Failed(response.status, answer.error ?? { code: 'LoadReportFailed', message: 'Could not load the report.' }, response.headers.get('requestid'));
  }
  return answer;
}

function fail(problem) {
  const detail = problem instanceof Failed ? problem.detail : { message: 'LoadReportFailed', detailedMessage: String(problem), errorCode: '500', level: 6 };
  tokenFailed = detail.message === 'TokenExpired';
  if (!settings.hideErrors) {
    main.replaceChildren(
      html('div', { class: 'failure', role: 'alert' }, html('h1', {}, 'This report cannot be shown'), html('p', {}, detail.detailedMessage ?? ''), html('p', { class: 'code' }, detail.message)),
    );
  }
  line.tell('error', detail);
}

/** Opens the report; true where it could be. */
async function load() {
  drawing?.abort();
  loading?.abort(); // or its answer could come after this one's
  const { signal } = (loading = new AbortController());
  try {
    const description = await ask(encodeURIComponent(config.id), undefined, signal);
    if (signal.aborted) return false;
    state = new State(description, config);
  } catch (problem) {
    if (!signal.aborted) fail(problem);
    return false;
  }
  document.title = state.report.name;
  tokenFailed = false;
  line.tell('loaded');
  tellPage();
  return true;
}

async function loadAndDraw() {
  if (await load()) await draw();
}

const pageBody = (page) => ({
  name: page.name,
  displayName: page.displayName,
  isActive: page === state.active,
  visibility: 0,
  defaultSize: { type: 4, width: page.width, height: page.height },
  defaultDisplayOption: 1,
});

function tellPage() {
  line.tell('pageChanged', { newPage: pageBody(state.active) });
}

const shown = (pane) => settings.panes?.[pane]?.visible !== false;

/** Draws the active page: its frame at once, then each visual from its rows. */
async function draw() {
  drawing?.abort();
  const { signal } = (drawing = new AbortController());
  const page = state.active;
  frame(page);
  try {
    const visuals = page.visuals.map((v) => ({ name: v.name, filters: state.filtersOn(v) }));
    const answers = await ask(`${encodeURIComponent(config.id)}/query`, { page: page.name, visuals }, signal);
    if (signal.aborted) return;
    for (const answer of answers.visuals) fill(page, page.visuals.find((v) => v.name === answer.name), answer);
  } catch (problem) {
    if (!signal.aborted) fail(problem);
    return;
  }
  line.tell('rendered');
}

/** What stays while the rows are fetched: the tabs, the filters, the boxes. */
function frame(page) {
  const kept = main.dataset.page === page.name && main.querySelector('.visuals');
  main.dataset.page = page.name;
  const tabs = state.pages.map((p) =>
    html('li', {}, html('button', { type: 'button', 'aria-current': p === page ? 'page' : undefined, onclick: () => void activate(p) }, p.displayName)),
  );
  const showTabs = settings.navContentPaneEnabled !== false && shown('pageNavigation') && tabs.length > 1;
  const filters = [...state.filters, ...page.filters].map((f) => html('li', {}, inWords(f)));
  if (state.selection) filters.push(html('li', {}, `${state.selection.visual.rows[0].column} is ${state.selection.value ?? '(Blank)'}`));
  const showFilters = settings.filterPaneEnabled !== false && shown('filters') && filters.length > 0;
  const boxes = page.visuals.map((v) =>
    html(
      'section',
      { class: `visual ${v.kind} span-${v.columns}`, id: v.name, 'aria-labelledby': `title-${v.name}`, 'aria-busy': 'true' },
      html('h2', { id: `title-${v.name}` }, v.title),
      html('div', { class: 'body' }, html('div', { class: 'waiting' })),
    ),
  );
  const head = html(
    'header',
    {},
    html('h1', { class: 'unseen' }, `${state.report.name}: ${page.displayName}`),
    showTabs ? html('nav', { 'aria-label': 'Pages' }, html('ul', {}, ...tabs)) : undefined,
    showFilters ? html('ul', { class: 'filters', 'aria-label': 'Filters' }, ...filters) : undefined,
  );
  if (kept) {
    main.querySelector('header').replaceWith(head);
    for (const box of kept.children) box.setAttribute('aria-busy', 'true');
  } else {
    main.replaceChildren(head, html('div', { class: 'visuals' }, ...boxes));
  }
}

function fill(page, visual, answer) {
  const box = document.getElementById(visual.name);
  const body = box.querySelector('.body');
  const focused = body.contains(document.activeElement) ? document.activeElement.textContent : undefined;
  box.removeAttribute('aria-busy');
  visual.answer = answer;
  if (answer.error) {
    body.replaceChildren(html('p', { class: 'trouble' }, html('b', {}, 'This visual cannot be shown. '), answer.error.message));
    return;
  }
  const empty = answer.rows.length === 0 && visual.kind !== 'card';
  body.replaceChildren(empty ? html('p', { class: 'empty' }, 'No rows') : chart[visual.kind](visual, answer, hand(page, visual)));
  if (focused !== undefined) [...body.querySelectorAll('button')].find((b) => b.textContent === focused)?.focus();
  if (settings.visualRenderedEvents) line.tell('visualRendered', { name: visual.name, title: visual.title, type: visual.type });
}

/** What pressing something in a visual does. */
function hand(page, visual) {
  if (visual.kind === 'slicer') {
    return {
      selected: (value) => visual.slice[0]?.values.includes(value) ?? false,
      select: (cell) => {
        state.slice(visual, cell, visual.answer.rows.length > 14);
        void draw();
      },
    };
  }
  return {
    selected: (value) => (state.selection?.visual === visual ? state.selection.value === value : undefined),
    select: (axis, cell) => {
      state.choose(visual, axis.value);
      const { table, column } = visual.rows[0];
      const points = state.selection
        ? [
            {
              identity: [{ target: { table, column }, equals: axis.value }],
              values: [{ target: visual.values[0], value: cell.value, formattedValue: cell.text }],
            },
          ]
        : [];
      line.tell('dataSelected', {
        report: { id: state.report.id, displayName: state.report.name },
        page: { name: page.name, displayName: page.displayName },
        visual: { name: visual.name, title: visual.title, type: visual.type },
        dataPoints: points,
        regions: [],
        filters: [],
      });
      void draw();
    },
  };
}

function activate(page) {
  state.active = page;
  state.selection = undefined;
  tellPage();
  return draw();
}

function opened() {
  if (!state) throw new Refused(400, 'reportNotLoaded', 'Load the report first.');
  return state;
}

/** Takes the configuration of a load. */
function configure(body) {
  if (typeof body?.accessToken !== 'string' || body.accessToken === '') throw new Refused(400, 'InvalidParameters', 'accessToken is required.');
  if (typeof body.id !== 'string' || body.id === '') throw new Refused(400, 'InvalidParameters', 'id is required.');
  config = body;
  token = { value: body.accessToken, type: body.tokenType ?? 0 };
  settings = body.settings ?? {};
  main.dataset.page = '';
}

const applied = (filters) => {
  line.tell('filtersApplied', { filters });
  void draw();
};

line.on('POST', '/frontload/config', () => undefined);
line.on('POST', '/report/load', (body) => {
  configure(body);
  void loadAndDraw();
});
line.on('POST', '/report/prepare', (body) => {
  configure(body);
  void load();
});
line.on('POST', '/report/render', (body) => {
  opened();
  if (body?.pageName) state.active = state.page(body.pageName);
  if (body?.filters) state.filters = changeFilters(state.filters, 'Replace', body.filters);
  void draw();
});
line.on('POST', '/report/token', (body) => {
  if (typeof body !== 'string' || body === '') throw new Refused(400, 'InvalidParameters', 'The token must be a text.');
  token = { value: body, type: token?.type ?? 1 };
  if (tokenFailed) void loadAndDraw();
});
line.on('POST', '/report/refresh', () => {
  opened();
  void draw();
});
line.on('PATCH', '/report/settings', (body) => {
  settings = { ...settings, ...body };
  if (state) void draw();
});
line.on('POST', '/report/switchMode/:mode', (_, { mode }) => {
  if (mode !== 'view') throw notSupported('editing a report');
});
line.on('GET', '/report/hasUnsavedChanges', () => false);
line.on('GET', '/getCorrelationId', () => newID());

line.on('GET', '/report/pages', () => opened().pages.map(pageBody));
line.on('PUT', '/report/pages/active', (body) => {
  void activate(opened().page(body?.name));
});

line.on('GET', '/report/filters', () => opened().filters);
line.on('PUT', '/report/filters', (body) => applied((opened().filters = changeFilters([], 'ReplaceAll', body))));
line.on('POST', '/report/filters', (body) => applied((opened().filters = changeFilters(state.filters, body.filtersOperation, body.filters))));

const pagePath = '/report/pages/:page';
line.on('GET', `${pagePath}/filters`, (_, { page }) => opened().page(page).filters);
line.on('PUT', `${pagePath}/filters`, (body, { page }) => applied((opened().page(page).filters = changeFilters([], 'ReplaceAll', body))));
line.on('POST', `${pagePath}/filters`, (body, { page }) => {
  const of = opened().page(page);
  applied((of.filters = changeFilters(of.filters, body.filtersOperation, body.filters)));
});

const visualBody = ({ name, title, type, layout }) => ({ name, title, type, layout: { ...layout, displayState: { mode: 0 } } });
line.on('GET', `${pagePath}/visuals`, (_, { page }) => opened().page(page).visuals.map(visualBody));

const visualPath = `${pagePath}/visuals/:visual`;
const visualOf = ({ page, visual }) => opened().visual(page, visual);
line.on('GET', `${visualPath}/filters`, (_, at) => visualOf(at).filters);
line.on('PUT', `${visualPath}/filters`, (body, at) => applied((visualOf(at).filters = changeFilters([], 'ReplaceAll', body))));
line.on('POST', `${visualPath}/filters`, (body, at) => {
  const of = visualOf(at);
  applied((of.filters = changeFilters(of.filters, body.filtersOperation, body.filters)));
});
const slicerOf = (at) => {
  const of = visualOf(at);
  if (of.kind !== 'slicer') throw notFound(`slicer ${at.visual}`);
  return of;
};
line.on('GET', `${visualPath}/slicer`, (_, at) => ({ filters: slicerOf(at).slice, targets: slicerOf(at).rows }));
line.on('PUT', `${visualPath}/slicer`, (body, at) => applied((slicerOf(at).slice = changeFilters([], 'ReplaceAll', body?.filters))));
line.on('POST', `${visualPath}/exportData`, (_, at) => {
  const visual = visualOf(at);
  if (!visual.answer || visual.answer.error) throw notFound('data of this visual yet');
  const quote = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const columns = [...visual.rows, ...(visual.series ? [visual.series] : [])].map((c) => c.column);
  const lines = [[...columns, ...visual.values.map((v) => v.measure)], ...visual.answer.rows.map((row) => row.map((c) => String(c.value ?? '')))];
  return { data: lines.map((cells) => cells.map(quote).join(',')).join('\r\n') };
});

line.open();
