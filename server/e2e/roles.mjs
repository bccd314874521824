// An admin's way through the screen of roles, in a real Chromium, beside the
// command line. Prints what went wrong as JSON.
//
//   node roles.mjs CHROMIUM ORIGIN [FOLDER-FOR-PICTURES]
import { launch, Visitor } from './chromium.mjs';

const [chromiumPath, origin, shots] = process.argv.slice(2);
const browser = await launch(chromiumPath);
const result = {};
try {
  const v = await Visitor.open(browser, { origin, shots });
  const { page } = v;
  await v.signIn('admin@sample.example', '/admin/roles');
  await page.getByRole('heading', { name: 'People and roles' }).waitFor();
  const assignments = page.locator('section', { has: page.getByRole('heading', { name: /^Assignments/ }) }).locator('.rows > li');

  // UI-04: what the command line assigned stands here.
  await assignments.filter({ hasText: 'typed@sample.example' }).waitFor();
  await v.look('roles');

  // A person who has not come yet.
  await page.getByRole('combobox', { name: 'Role', exact: true }).selectOption('curator');
  await page.getByLabel(/^Email it waits/).fill('pressed@sample.example');
  await page.getByRole('button', { name: 'Give the role' }).click();
  await page.getByText('From now on: curator.').waitFor();
  await assignments.filter({ hasText: 'pressed@sample.example' }).waitFor();
  await v.look('roles-given');

  // A role of the deployment's own, for everybody, by the keyboard alone.
  await page.getByRole('combobox', { name: 'Role', exact: true }).focus();
  await page.getByRole('combobox', { name: 'Role', exact: true }).selectOption('another');
  await v.tabTo(page.getByLabel(/^Name of the role/));
  await page.keyboard.type('metric_steward');
  await page.getByRole('combobox', { name: 'To', exact: true }).selectOption('everybody');
  await v.tabTo(page.getByRole('button', { name: 'Give the role' }));
  await page.keyboard.press('Enter');
  await page.getByText('metric_steward was given.').waitFor();
  await v.look('roles-custom');

  // What gives somebody their roles.
  await page.getByLabel('Email of a person').fill('steward@sample.example');
  await page.getByRole('button', { name: 'Look' }).click();
  const list = page.getByRole('list', { name: 'Roles of steward@sample.example' });
  await list.getByText(/^curator by group .* of microsoft/).waitFor();
  await list.getByText(/^metric_steward by everybody in the tenant/).waitFor();
  await v.look('roles-effective');

  // Taking one away, and the last admin who stays.
  await page.getByRole('button', { name: 'Take viewer from typed@sample.example' }).click();
  const dialog = page.getByRole('dialog', { name: 'Take viewer from typed@sample.example' });
  await dialog.waitFor();
  await v.look('roles-take');
  await dialog.getByRole('button', { name: 'Take the role away' }).click();
  await page.getByText('viewer was taken away.').waitFor();
  await assignments.filter({ hasText: 'typed@sample.example' }).waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Take admin from admin@sample.example' }).click();
  const last = page.getByRole('dialog', { name: 'Take admin from admin@sample.example' });
  page.on('request', (r) => r.method() === 'DELETE' && v.provoke(`409 ${new URL(r.url()).pathname}`));
  await last.getByRole('button', { name: 'Take the role away' }).click();
  await last.getByText('This is the last admin.').waitFor();
  await v.look('roles-last');
  await last.getByRole('button', { name: 'Keep it' }).click();
  await v.close();

  const o = await Visitor.open(browser, { origin, shots });
  await o.signIn('viewer@sample.example');
  o.provoke('403 /api/v1/admin/roles');
  await o.page.goto('/admin/roles');
  await o.page.getByText('You do not have permission to see this.').waitFor();
  await o.look('roles-no-permission');
  await o.close();
} catch (e) {
  result.error = e.stack;
  for (const context of browser.contexts()) {
    for (const page of context.pages()) result.error += `\nit stood at ${page.url()}:\n${await page.locator('body').innerText()}`;
  }
}
await browser.close();
console.log(JSON.stringify(result));
