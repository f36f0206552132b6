// What users may not do: the console says so in place of the action, before the service refuses it.
import { expect, it } from 'vitest';
import { origin } from '../../admin/src/areas/buckets/sample/origin.ts';
import { collection, collectionView, describeConsole } from './stage.ts';

const bucket = '/v1/buckets/kitchen';
const everyone = { read: ['system.Everyone'] };
const settings = { experimental_collection_schema_validation: 'true' };

describeConsole('The console for users without permissions', { settings }, (stage) => {
  it('shows readers what is there, and no actions that the service would refuse.', async () => {
    const { alice, page, visitor } = stage;
    await alice.request('PATCH', bucket, { body: { permissions: everyone } });
    await alice.request('PUT', `${bucket}/groups/cooks`, { body: { data: { members: ['account:zoe'] } } });
    await stage.store({ bread: '{"title":"Bread"}' });
    const bob = stage.service.asUser('bob');
    expect((await bob.request('POST', `${collection}/records`, { body: {} })).status).toBe(403);
    await visitor.signIn('bob');
    for (const [view, refused, actions] of [
      ['#/buckets/kitchen?_tab=collections', 'create collections here', ['New collection']],
      ['#/buckets/kitchen?_tab=groups', 'create groups here', ['New group']],
      ['#/buckets/kitchen?_tab=attributes', 'change this bucket', ['Save', 'Delete this bucket']],
      [collectionView, 'create records here', ['New record', 'Declare a text index']],
      [`${collectionView}?_tab=records&_new=1`, 'create records in this collection', ['Create']],
      [`${collectionView}?_tab=schema`, 'change the schema of this collection', ['Save the schema']],
      [`${collectionView}?_tab=transfer`, 'import records into this collection', ['Dry run']],
      [`${collectionView}/records/bread?_tab=attributes`, 'change this record', ['Save', 'Duplicate this record']],
      ['#/buckets/kitchen/groups/cooks', 'change this group', ['Save members', 'Remove account:zoe']],
    ] as const) {
      await visitor.go(view);
      await page.getByText(`You have no permission to ${refused}.`).waitFor();
      for (const name of actions) {
        expect(await page.getByRole('button', { name, exact: true }).count()).toBe(0);
        expect(await page.getByRole('link', { name, exact: true }).count()).toBe(0);
      }
    }
    await page.getByText('account:zoe').waitFor();
    await visitor.go(collectionView);
    await page.getByText('You have no permission to create records here.').waitFor();
    expect(await page.getByRole('checkbox', { name: /^Select/ }).count()).toBe(0);
    await stage.checkView('records-reader');
    await visitor.go(`${collectionView}/records/bread?_tab=attributes`);
    await page.getByText('You have no permission to change this record.').waitFor();
    await stage.checkView('record-reader');
  });

  it('offers what a permission on a collection or on a single record allows.', async () => {
    const { alice, page, visitor } = stage;
    await stage.store({ bread: '{"title":"Bread"}', soup: '{"title":"Soup"}' });
    await alice.request('PATCH', collection, { body: { permissions: { ...everyone } } });
    const permissions = { write: ['system.Authenticated'] };
    await alice.request('PATCH', `${collection}/records/soup`, { body: { permissions } });
    await visitor.signIn('bob');
    await visitor.go(collectionView);
    await page.getByText('You have no permission to create records here.').waitFor();
    await page.getByRole('checkbox', { name: /soup/ }).waitFor();
    await visitor.go(`${collectionView}/records/soup?_tab=attributes`);
    await page.getByRole('button', { name: 'Save' }).waitFor();
    await alice.request('PATCH', collection, {
      body: { permissions: { 'record:create': ['system.Authenticated'], write: ['system.Authenticated'] } },
    });
    await visitor.go(`${collectionView}?_sort=id`);
    await page.getByRole('link', { name: 'New record' }).waitFor();
    await visitor.go(`${collectionView}/records/bread?_tab=attributes`);
    await page.getByRole('button', { name: 'Delete this record' }).waitFor();
  });

  it('shows the form for buckets and the sample data only with permission to create buckets.', async () => {
    const { alice, page, visitor } = stage;
    await visitor.signIn('bob');
    await page.getByRole('button', { name: 'Load the sample data' }).waitFor();
    await page.getByRole('link', { name: 'New bucket' }).waitFor();
    await visitor.go('#/?_new=1');
    await page.getByRole('button', { name: 'Create' }).waitFor();
    await stage.press('Sign out');
    const sample = { data: { origin }, permissions: everyone };
    expect((await alice.request('PUT', '/v1/buckets/sample', { body: sample })).status).toBe(201);
    await stage.press('Explore without signing in');
    await page.getByText('You have no permission to create buckets here.').waitFor();
    expect(await page.getByRole('link', { name: 'New bucket' }).count()).toBe(0);
    await stage.checkView('home-reader');
    await visitor.go('#/?_new=1');
    await page.getByText('You have no permission to create buckets here.').waitFor();
    await visitor.go('#/buckets/sample');
    await page.getByText('You have no permission to create collections here.').waitFor();
    expect(await page.getByRole('link', { name: 'Sample data' }).count()).toBe(0);
  });

  it('asks for permissions only where the answer of the object does not show that the user may write.', async () => {
    const { page, visitor } = stage;
    await stage.store({ bread: '{"title":"Bread"}' });
    const asked: string[] = [];
    await visitor.signIn('alice');
    // The first page asks.
    await visitor.go('#/requests');
    page.on('request', (request) => {
      if (new URL(request.url()).pathname === '/v1/permissions') asked.push(request.url());
    });
    await visitor.go(collectionView);
    await page.getByRole('link', { name: 'New record' }).waitFor();
    await visitor.go(`${collectionView}/records/bread?_tab=attributes`);
    await page.getByRole('button', { name: 'Save' }).waitFor();
    expect(asked).toEqual([]);
  });
});
