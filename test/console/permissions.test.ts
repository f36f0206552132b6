// Permissions in the console: the matrix, the picker, and the question why a user may do something.
import { beforeEach, expect, it } from 'vitest';
import { describeConsole, type Stage } from './stage.ts';

const bucket = '/v1/buckets/kitchen';
const collection = `${bucket}/collections/recipes`;
const view = '#/buckets/kitchen/collections/recipes?_tab=permissions';
const cooks = '/buckets/kitchen/groups/cooks';
const hostile = '<img src=x onerror=alert(1)>';
const settings = {
  includes: 'admin accounts default_bucket',
  'multiauth.policies': 'account',
  account_create_principals: 'system.Everyone',
  collection_read_principals: 'account:bob',
};

async function fill(stage: Stage): Promise<void> {
  const { alice } = stage;
  await stage.addAccounts(['alice', 'bob']);
  await alice.request('PUT', bucket, { body: { permissions: { read: [cooks] } } });
  await alice.request('PUT', `${bucket}/groups/cooks`, { body: { data: { members: ['account:carol'] } } });
  await alice.request('PUT', collection);
}

describeConsole('Permissions in the console', { settings, fill }, (stage) => {
  beforeEach(() => stage.visitor.signIn('alice'));

  const picker = () => stage.page.getByRole('combobox', { name: 'Add a principal' });
  const cell = (principal: string, permission: string) =>
    stage.page.getByRole('checkbox', { name: `${principal}: ${permission}`, exact: true });
  const permissions = async (path: string): Promise<unknown> =>
    ((await stage.alice.request('GET', path)).body as { readonly permissions: unknown }).permissions;

  it('shows entries and what parents add, and saves changes of both.', async () => {
    const { page, visitor } = stage;
    await visitor.go(view);
    const row = page.getByRole('row').filter({ hasText: cooks });
    await row.getByRole('link', { name: 'bucket kitchen' }).waitFor();
    expect(await row.getByRole('cell').allInnerTexts()).toEqual(['bucket kitchen: read', '', '', '']);
    await picker().fill('everyone sig');
    await page.getByRole('option', { name: /^system.Authenticated/ }).click();
    await cell('system.Authenticated', 'record:create').check();
    await cell('system.Authenticated', 'read').uncheck();
    await cell(cooks, 'write').check();
    await stage.press('Save permissions');
    await stage.status('Permissions saved.');
    expect(await permissions(collection)).toEqual({
      'record:create': ['system.Authenticated'],
      write: expect.arrayContaining(['account:alice', cooks]) as unknown,
    });
    await stage.press('Remove system.Authenticated');
    await stage.press('Save permissions');
    await expect.poll(() => permissions(collection)).not.toHaveProperty('record:create');
  });

  it('suggests groups and accounts, by keyboard alone.', async () => {
    const { page, visitor } = stage;
    await visitor.go(view);
    await picker().focus();
    await page.getByRole('option', { name: /^account:alice you/ }).waitFor();
    await page.keyboard.type('coo');
    await page.getByRole('option', { name: new RegExp(`^${cooks} group`) }).waitFor();
    await expect.poll(() => page.getByRole('listbox').getByRole('option').count()).toBe(1);
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await expect.poll(() => cell(cooks, 'read').isChecked()).toBe(true);
    await page.keyboard.press('Control+s');
    await stage.status('Permissions saved.');
    expect(await permissions(collection)).toMatchObject({ read: [cooks] });
  });

  it('asks before it adds and saves unknown principals.', async () => {
    const { page, visitor } = stage;
    await visitor.go(view);
    const dialog = page.getByRole('dialog');
    for (const [typed, complaint] of [
      ['bob', 'lacks the prefix of user ids'],
      ['github:bob', 'has a prefix that no sign-in of this service uses'],
      ['system.Any', 'is neither system.Everyone nor system.Authenticated'],
      ['/buckets/kitchen/groups/waiters', 'names a group that does not exist'],
      [hostile, 'lacks the prefix of user ids'],
    ] as const) {
      await picker().fill(typed);
      await stage.press('Add');
      await dialog.getByText(complaint).waitFor();
      await stage.press('Correct it');
      expect(await cell(typed, 'read').count()).toBe(0);
    }
    await page.keyboard.press('Enter');
    await stage.press('Add it nevertheless');
    await cell(hostile, 'read').waitFor();
    await page.getByRole('row').filter({ hasText: hostile }).getByText('This principal lacks the prefix').waitFor();
    await stage.press('Save permissions');
    await dialog.getByText('Save unknown principals?').waitFor();
    await stage.press('Correct them');
    expect(await permissions(collection)).not.toHaveProperty('read');
    await stage.press('Save permissions');
    await stage.press('Save nevertheless');
    await stage.status('Permissions saved.');
    expect(await permissions(collection)).toMatchObject({ read: [hostile] });
  });

  it('explains by entries, groups and settings why a user may do something.', async () => {
    const { alice, page, visitor } = stage;
    await alice.request('PATCH', bucket, { body: { permissions: { write: [cooks] } } });
    const answer = page.locator('.answer');
    const explain = async (who: string, what: string): Promise<string> => {
      await visitor.go(view);
      await page.getByLabel('User or group').fill(who);
      await page.getByLabel('Permission', { exact: true }).selectOption(what);
      await stage.press('Explain');
      await answer.getByText(`${who} and ${what}`).waitFor();
      return (await answer.innerText()).replaceAll(/\n+/g, '\n');
    };
    expect(await explain('account:carol', 'record:create')).toContain(
      `Yes. account:carol and record:create:\nThe entry write of the bucket kitchen names ${cooks}, and the user is a member of this group.`,
    );
    expect(await explain('account:alice', 'write')).toContain('names account:alice (you).');
    expect(await explain('account:zoe', 'read')).toContain('No, as far as the entries say.');
    // The question is in the address.
    await page.reload();
    await answer.getByText('account:zoe and read').waitFor();
    await stage.press('Sign out');
    await visitor.signIn('bob');
    expect(await explain('account:bob', 'read')).toContain(
      'You have read on the collection recipes from an entry that you cannot see, or a setting of the service.',
    );
    expect(await explain('account:carol', 'write')).toContain('Unknown: you do not see everything.');
  });

  it('suggests users for the question.', async () => {
    const { page, visitor } = stage;
    await visitor.go(view);
    const field = page.getByRole('combobox', { name: 'User or group' });
    await field.fill('');
    await page.getByRole('option', { name: /^account:alice you/ }).waitFor();
    await page.getByRole('option', { name: new RegExp(`^${cooks} group of this bucket`) }).click();
    expect(await field.inputValue()).toBe(cooks);
    await field.press('Enter');
    await page.locator('.answer').getByText(`${cooks} and read`).waitFor();
  });

  it('keeps unsaved entries as a draft, and compares after a conflict.', async () => {
    const { alice, page, visitor } = stage;
    await visitor.go(view);
    await cell('account:alice', 'read').check();
    await page.getByRole('link', { name: 'kitchen', exact: true }).first().click();
    await stage.press('Leave');
    await visitor.go(view);
    await stage.press('Restore draft');
    expect(await cell('account:alice', 'read').isChecked()).toBe(true);
    await alice.request('PATCH', collection, { body: { permissions: { read: ['account:bob'] } } });
    await stage.press('Save permissions');
    await page.getByRole('dialog').getByText('account:bob').waitFor();
    await stage.press('Overwrite with mine');
    await stage.status('Permissions saved.');
    expect(await permissions(collection)).toMatchObject({ read: ['account:alice'] });
  });

  it('is accessible in light, in dark and on a phone.', async () => {
    const { alice, page } = stage;
    const read = ['account:bob', 'system.Everyone', `account:${'x'.repeat(100)}`, hostile];
    await alice.request('PATCH', collection, { body: { permissions: { read } } });
    await stage.checkViews([view, `${view}&_who=account%3Abob&_what=read`]);
    await page.locator('.answer').waitFor();
  });
});
