// The first visit: the sample data, new users of Basic authentication, and accounts that visitors create.
import { expect, it } from 'vitest';
import { profileValues } from '../../src/settings/profile.ts';
import { describeConsole } from './stage.ts';

const bucket = '/v1/buckets/sample';

const fillNothing = (): Promise<void> => Promise.resolve();

describeConsole('The first visit', { fill: fillNothing }, (stage) => {
  const total = async (list: string): Promise<number> =>
    Number((await stage.alice.request('HEAD', `${bucket}/${list}`)).headers['total-objects']);
  const isThere = async (path = ''): Promise<boolean> =>
    (await stage.alice.request('GET', `${bucket}${path}`)).status === 200;

  /** Removes the sample data from its bucket. */
  async function remove(): Promise<void> {
    await stage.visitor.go('#/buckets/sample?_tab=sample');
    await stage.press('Remove the sample data');
    await stage.press('Remove');
  }

  it('loads the sample data with one button, and removes all of it again.', async () => {
    const { alice, page, visitor } = stage;
    await visitor.signIn('alice');
    await page.getByText('No data belongs to this user.').waitFor();
    await stage.checkView('first-visit');
    await stage.press('Load the sample data');
    await stage.heading('bucket sample');
    await stage.status('The sample data is loaded.');
    const counts = await Promise.all(['authors', 'books', 'tasks'].map((id) => total(`collections/${id}/records`)));
    expect(counts.every((count) => count > 5)).toBe(true);
    expect(counts.reduce((sum, count) => sum + count)).toBeGreaterThan(190);
    const changes = await alice.request('GET', `${bucket}/history?record_id=middlemarch`);
    expect((changes.body as { data: object[] }).data).toMatchObject([{ action: 'update' }, { action: 'create' }]);
    await visitor.go('#/buckets/sample/collections/books?_q=sea*&_sort=year');
    await page.getByRole('cell', { name: 'Twenty Thousand Leagues Under the Seas' }).waitFor();
    await stage.checkView('sample-books');
    await visitor.go('#/buckets/sample/collections/books/records/middlemarch');
    await page.getByRole('link', { name: 'librarians' }).waitFor();
    await stage.checkView('sample-book');
    await visitor.go('#/buckets/sample?_tab=sample');
    await stage.checkView('sample-tab');
    await remove();
    await stage.heading('Buckets');
    await stage.status('The sample data is removed.');
    expect((await alice.request('GET', '/v1/buckets')).body).toEqual({ data: [] });
  });

  it('keeps what the user has added when it removes the sample data.', async () => {
    const { alice, page, visitor } = stage;
    await visitor.signIn('alice');
    await stage.press('Load the sample data');
    await stage.status('The sample data is loaded.');
    await alice.request('PUT', `${bucket}/collections/books/records/mine`, { body: { data: { title: 'My book' } } });
    await alice.request('PATCH', `${bucket}/collections/books/records/emma`, { body: { data: { title: 'Changed' } } });
    await alice.request('PUT', `${bucket}/groups/friends`);
    await remove();
    await stage.status('The sample data is removed. What you added stays.');
    expect(await total('collections/books/records')).toBe(1);
    expect([await isThere('/collections/books/records/mine'), await isThere('/groups/friends')]).toEqual([true, true]);
    expect([await isThere('/collections/authors'), await isThere('/groups/librarians')]).toEqual([false, false]);
    // An interrupted load is continued, and leaves what is there as it is.
    await alice.request('PUT', `${bucket}/collections/books/records/emma`, { body: { data: { title: 'My Emma' } } });
    await visitor.go('#/buckets/sample?_tab=sample');
    await stage.press('Load what is missing');
    await stage.status('The sample data is loaded.');
    expect(await isThere('/collections/authors/records/austen')).toBe(true);
    expect((await alice.request('GET', `${bucket}/collections/books/records/emma`)).text).toContain('"My Emma"');
    await page.getByRole('row').getByRole('link', { name: 'authors' }).waitFor();
  });

  it('leaves a bucket of the same name alone, and says so.', async () => {
    const { alice, page, service, visitor } = stage;
    await service.asUser('bob').request('PUT', bucket, { body: { data: { origin: 'elsewhere' } } });
    await visitor.signIn('alice');
    await stage.press('Load the sample data');
    await page.getByRole('alert').getByText('Another user has a bucket "sample".').waitFor();
    await stage.press('Sign out');
    await visitor.signIn('bob');
    await visitor.go('#/?_sample=1');
    await stage.press('Load the sample data');
    await page.getByRole('alert').getByText('A bucket "sample" exists already').waitFor();
    const { body } = await service.asUser('bob').request('GET', `${bucket}/collections`);
    expect(body).toEqual({ data: [] });
    await visitor.go('#/buckets/sample');
    await page.getByRole('navigation', { name: 'Parts' }).waitFor();
    expect(await page.getByRole('link', { name: 'Sample data' }).count()).toBe(0);
    expect((await alice.request('GET', bucket)).status).toBe(403);
  });

  it('reports what was not loaded, and continues.', async () => {
    const { page, visitor } = stage;
    await visitor.signIn('alice');
    await page.route('**/v1/batch', (route) => route.abort());
    await stage.press('Load the sample data');
    const report = page.getByRole('alert', { name: 'Report' });
    await report.getByText('The service cannot be reached.').first().waitFor();
    await page.unroute('**/v1/batch');
    await visitor.go('#/buckets/sample?_tab=sample');
    await stage.press('Load what is missing');
    await stage.status('The sample data is loaded.');
    expect(await total('collections/books/records')).toBeGreaterThan(100);
  });

  it('shows collections that others share before the first steps.', async () => {
    const { page, service, visitor } = stage;
    const shop = '/v1/buckets/shop/collections/orders';
    await service.asUser('bob').request('PUT', '/v1/buckets/shop');
    await service.asUser('bob').request('PUT', shop, { body: { permissions: { read: ['system.Authenticated'] } } });
    await visitor.signIn('alice');
    await page.getByRole('region', { name: 'First steps' }).waitFor();
    await expect
      .poll(() => page.getByRole('heading', { level: 2 }).allInnerTexts())
      .toEqual(['Shared with you', 'First steps']);
    await page.getByRole('link', { name: 'shop / orders' }).click();
    await stage.heading('collection orders');
  });

  it('hints at a mistyped password where a link leads to something of another user.', async () => {
    const { alice, page, visitor } = stage;
    await alice.request('PUT', '/v1/buckets/kitchen');
    await page.getByText('a new name is a new, empty user').waitFor();
    await visitor.signIn('alice', 'a typing error');
    await visitor.go('#/buckets/kitchen');
    await page.getByText('a mistyped name or password is another user').waitFor();
    await page.getByRole('main').getByRole('button', { name: 'Sign in again' }).click();
    await page.getByLabel('Password').waitFor();
  });
});

describeConsole(
  'The first visit with accounts',
  {
    fill: fillNothing,
    settings: {
      includes: 'admin accounts',
      'multiauth.policies': 'account',
      account_create_principals: 'system.Everyone',
      account_hash_cost: '10',
    },
  },
  (stage) => {
    it('creates an account where everyone may, and signs in with it.', async () => {
      const { page, service } = stage;
      await service.request('PUT', '/v1/accounts/ann', { body: { data: { password: 'hers' } } });
      await stage.press('Create an account');
      await stage.checkView('sign-up');
      await page.getByLabel('Name').fill('ann');
      await page.getByLabel('Password', { exact: true }).fill('pässword ☂');
      await page.getByLabel('Password again').fill('password');
      await stage.press('Create the account');
      await page.getByRole('alert').getByText('The two passwords differ.').waitFor();
      await page.getByLabel('Password again').fill('pässword ☂');
      await stage.press('Create the account');
      await page.getByRole('alert').getByText('An account with this name already exists.').waitFor();
      await page.getByLabel('Name').fill('zoe');
      await stage.press('Create the account');
      await page.getByText('account:zoe', { exact: true }).waitFor();
      await page.getByRole('region', { name: 'First steps' }).waitFor();
      expect(await page.getByText('No data belongs to this user.').count()).toBe(0);
    });
  },
);

describeConsole(
  'The first visit where administrators create accounts',
  { fill: fillNothing, settings: { includes: 'admin accounts', 'multiauth.policies': 'account' } },
  (stage) => {
    it('says who creates accounts.', async () => {
      const { page } = stage;
      await page.getByText('Administrators create accounts').waitFor();
      expect(await page.getByRole('button', { name: 'Create an account' }).count()).toBe(0);
    });
  },
);

// The settings of a start without configuration, except for its backends, its address and its folders.
const profile = Object.fromEntries(
  Object.entries(profileValues).filter(([name]) => !/(?:_backend|_folder|_enabled|^host)$/.test(name)),
);

describeConsole(
  'The first visit of a start without configuration',
  { fill: fillNothing, settings: profile },
  (stage) => {
    it('leads from the sample data to a schema that records have to pass.', async () => {
      const { page, visitor } = stage;
      await visitor.signIn('alice');
      await stage.press('Load the sample data');
      await stage.status('The sample data is loaded.');
      await visitor.go('#/buckets/sample/collections/books?_tab=schema');
      await page.getByRole('group', { name: 'Field 1', exact: true }).waitFor();
      await visitor.go('#/buckets/sample/collections/books?_tab=records&_new=1');
      await stage.press('Create record');
      await page.getByRole('alert').getByText('title').waitFor();
    });
  },
);
