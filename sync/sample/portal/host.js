// Embeds the report of this page: what Microsoft's library does, in its few steps
// that take no address of Power BI's own hosts.
const { report, token } = document.querySelector('main').dataset;
const frame = document.querySelector('iframe');

function load() {
  frame.contentWindow.postMessage(
    {
      method: 'POST',
      url: '/report/load',
      headers: { id: 'load', uid: 'portal' },
      body: { type: 'report', id: report, accessToken: token, tokenType: 1 },
    },
    location.origin,
  );
}

// The frame says that it is ready; it may have done so before this script ran.
addEventListener('message', (event) => {
  if (event.source === frame.contentWindow && event.data?.url === '/ready/portal') load();
});
if (frame.contentDocument?.readyState === 'complete' && frame.contentWindow.location.href !== 'about:blank') load();

document.querySelector('select').addEventListener('change', (event) => event.target.form.submit());
