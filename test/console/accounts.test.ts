// Groups and accounts in the console: members, the own password, and what administrators do with accounts.
import { expect, it } from 'vitest';
import type { TestClient } from '../../src/testing/index.ts';
import { describeConsole, type Stage } from './stage.ts';

const group = '/v1/buckets/kitchen/groups/cooks';
const groupView = '#/buckets/kitchen/groups/cooks?_tab=members';
const settings = {
  includes: 'admin accounts',
  'multiauth.policies': 'account',
  account_create_principals: 'system.Everyone',
  account_write_principals: 'account:root',
};

async function fill(stage: Stage): Promise<void> {
  await stage.addAccounts(['root', 'zoe', 'yan']);
  const root = stage.service.asUser('root');
  await root.request('PUT', '/v1/buckets/kitchen');
  await root.request('PUT', group, { body: { data: { members: ['account:zoe'], note: 'stays' } } });
}

describeConsole('Groups and accounts in the console', { settings, fill }, (stage) => {
  const login = async (name: string, password: string): Promise<number> => {
    const headers = { Authorization: `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}` };
    return (await stage.service.request('GET', `/v1/accounts/${name}`, { headers })).status;
  };
  const asRoot: TestClient['request'] = (...request) => stage.service.asUser('root').request(...request);
  const attributes = async (path: string): Promise<unknown> =>
    ((await asRoot('GET', path)).body as { readonly data: unknown }).data;

  it('adds and removes members of a group, and keeps its other attributes.', async () => {
    const { page, visitor } = stage;
    await visitor.signIn('root');
    await visitor.go(groupView);
    const picker = page.getByRole('combobox', { name: 'Add a member' });
    await picker.fill('ya');
    await page.getByRole('option', { name: /^account:yan/ }).click();
    await picker.fill('account:nobody');
    await stage.press('Add');
    await page.getByRole('dialog').getByText('names an account that does not exist').waitFor();
    await stage.press('Correct it');
    await stage.press('Remove account:zoe');
    await stage.press('Save members');
    await stage.status('Members saved.');
    expect(await attributes(group)).toMatchObject({ members: ['account:yan'], note: 'stays' });

    await stage.press('Remove account:yan');
    await asRoot('PATCH', group, { body: { data: { members: ['account:zoe'] } } });
    await stage.press('Save members');
    await page.getByRole('dialog').getByText('account:zoe').waitFor();
    await stage.press('Keep theirs');
    await page.getByRole('listitem').getByText('account:zoe').waitFor();
  });

  it('creates, disables, enables, resets and deletes accounts as an administrator.', async () => {
    const { page, visitor } = stage;
    await visitor.signIn('root');
    await visitor.go('#/accounts');
    await page.getByText('3 accounts', { exact: true }).waitFor();
    await page.getByRole('link', { name: 'New account' }).click();
    await page.getByLabel('Name').fill('zoe');
    await stage.press('Create account');
    await page.getByRole('alert').getByText('An account with this name already exists.').waitFor();
    await page.getByLabel('Name').fill('wim');
    const generated = await page.getByLabel('Password').inputValue();
    expect(generated).toMatch(/^[\w-]{20}$/);
    await stage.press('Create account');
    await page.getByRole('dialog').getByText(generated).waitFor();
    await stage.press('Done');
    await page.getByText('4 accounts', { exact: true }).waitFor();
    expect(await login('wim', generated)).toBe(200);

    await stage.press('Disable wim');
    await stage.press('Disable');
    await stage.status('The account wim is disabled.');
    expect(await login('wim', generated)).toBe(401);
    await stage.press('Enable wim');
    await stage.status('The account wim is enabled.');
    expect(await login('wim', generated)).toBe(200);

    await stage.press('Reset password of wim');
    await stage.press('Reset');
    const shown = (await page.getByRole('dialog').locator('pre').textContent()) ?? '';
    await stage.press('Done');
    await stage.status('The account wim has a new password.');
    expect([await login('wim', generated), await login('wim', shown)]).toEqual([401, 200]);

    await stage.press('Delete wim');
    await page.getByLabel('Type wim to continue').fill('wim');
    await stage.press('Delete the account');
    await page.getByText('3 accounts', { exact: true }).waitFor();
    expect((await asRoot('GET', '/v1/accounts/wim')).status).toBe(404);
    // Nothing locks administrators out of their own account.
    expect(await page.getByRole('button', { name: 'Delete root' }).count()).toBe(0);
  });

  it('changes the own password, and stays signed in.', async () => {
    const { page, visitor } = stage;
    await visitor.signIn('zoe');
    await visitor.go('#/accounts');
    await page.getByText('Only administrators see and change the accounts of others.').waitFor();
    await page.getByText('Change my password').click();
    await page.getByLabel('New password', { exact: true }).fill('battery staple');
    await page.getByLabel('New password again').fill('battery stable');
    await stage.press('Change password');
    await page.getByRole('alert').getByText('The two passwords differ.').waitFor();
    await page.getByLabel('New password again').fill('battery staple');
    await stage.press('Change password');
    await stage.status('The password is changed.');
    await page.getByText('1 account', { exact: true }).waitFor();
    expect([await login('zoe', 'secret of zoe'), await login('zoe', 'battery staple')]).toEqual([401, 200]);
  });

  it('reports what is not allowed.', async () => {
    const { page, visitor } = stage;
    await visitor.signIn('zoe');
    await visitor.go('#/accounts?_new=1');
    await page.getByLabel('Name').fill('other');
    await stage.press('Create account');
    await page.getByRole('alert').waitFor();
    expect((await asRoot('GET', '/v1/accounts/other')).status).toBe(404);
  });

  it('is accessible in light, in dark and on a phone.', async () => {
    const { visitor } = stage;
    const members = Array.from({ length: 30 }, (_value, n) => `account:${'x'.repeat(60)}${n}`);
    await asRoot('PATCH', group, { body: { data: { members: ['<b>bold</b>', ...members] } } });
    await visitor.signIn('root');
    await stage.checkViews([groupView, '#/accounts', '#/accounts?_view=password', '#/accounts?_new=1']);
  });
});
