// Brand is the mark and the name: books on a shelf that are bars of a chart.
export function Brand() {
  return (
    <span class="brand">
      <svg viewBox="0 0 20 18" width="20" height="18" aria-hidden="true">
        <rect x="0.5" y="6" width="5" height="12" rx="1" />
        <rect x="7" y="0" width="5" height="18" rx="1" />
        <path class="leaning" d="M13.4 4.6l4.4-1.2L21.6 17l-4.4 1.2z" transform="translate(-1.8 -0.3)" />
      </svg>
      pbmb
    </span>
  );
}
