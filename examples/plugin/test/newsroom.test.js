// Each part of the plugin, over HTTP against a running service.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestService } from 'coffer/testing';
import newsroom from 'coffer-plugin-newsroom';

/** @type {import('coffer/testing').TestService} */
let service;
/** @type {Record<string, number>} */
let counts = {};

const ignore = () => {};
/** @type {import('coffer').Logger} */
const logger = {
  debug: ignore,
  warn: ignore,
  error: ignore,
  info(/** @type {object | string} */ fields) {
    if (typeof fields === 'object' && 'counts' in fields)
      ({ counts } = /** @type {{ counts: typeof counts }} */ (fields));
  },
};

/**
 * The id of a user, which permissions are given to.
 *
 * @param {string} name
 * @returns {Promise<string>}
 */
async function idOf(name) {
  const { body } = await service.asUser(name).request('GET', '/v1/');
  return /** @type {{ user: { id: string } }} */ (body).user.id;
}

before(async () => {
  // User ids depend on the secret of the service, which tests always start with the same one.
  service = await startTestService();
  const eve = await idOf('eve');
  await service.close();
  service = await startTestService({
    plugins: [newsroom],
    logger,
    settings: {
      'newsroom.labels': `editors=${eve}`,
      'newsroom.max_title_length': '20',
      story_create_principals: 'system.Authenticated',
      event_listeners: 'tally',
      'event_listeners.tally.use': 'tally',
    },
  });
});
after(() => service.close());

test('Drafts belong to the user who created them.', async () => {
  const [alice, bob] = [service.asUser('alice'), service.asUser('bob')];
  assert.equal((await alice.request('PUT', '/v1/drafts/d', { body: { data: { text: 'x' } } })).status, 201);
  assert.equal((await bob.request('GET', '/v1/drafts/d')).status, 404);
  assert.equal((await service.request('GET', '/v1/drafts')).status, 401);
});

test('Stories are checked, shared one by one, and numbered by day.', async () => {
  const [alice, bob] = [service.asUser('alice'), service.asUser('bob')];
  const body = { data: { title: 'News' }, permissions: { read: [await idOf('bob')] } };
  const created = await alice.request('POST', '/v1/stories', { body });
  assert.equal(created.status, 201);
  const { id } = /** @type {{ data: { id: string } }} */ (created.body).data;
  assert.match(id, /^\d{4}-\d\d-\d\d-[0-9a-f]{12}$/);
  assert.equal((await bob.request('GET', `/v1/stories/${id}`)).status, 200);
  assert.equal((await service.asUser('carol').request('GET', `/v1/stories/${id}`)).status, 403);
  const refused = await alice.request('POST', '/v1/stories', { body: { data: { title: 'x'.repeat(21) } } });
  assert.equal(refused.status, 400);
  assert.match(refused.text, /at most 20 characters/);
});

test('Who has the label may publish, and nothing more.', async () => {
  const [alice, bob, eve] = [service.asUser('alice'), service.asUser('bob'), service.asUser('eve')];
  await alice.request('PUT', '/v1/buckets/b');
  await alice.request('PUT', '/v1/buckets/b/collections/c');
  const record = '/v1/buckets/b/collections/c/records/r';
  await alice.request('PUT', record, { body: { permissions: { publish: ['group:editors'] } } });
  assert.equal((await bob.request('POST', `${record}/publish`)).status, 403);
  assert.equal((await service.request('POST', `${record}/publish`)).status, 401);
  assert.equal((await eve.request('POST', `${record}/publish`)).status, 202);
  assert.equal((await eve.request('GET', record)).status, 403);
  const { body } = await alice.request('GET', record);
  assert.equal(typeof (/** @type {{ data: { published: unknown } }} */ (body).data.published), 'number');
  assert.equal((await alice.request('POST', `${record}x/publish`)).status, 404);
});

test('Publishing is undone with the batch that it is part of.', async () => {
  const alice = service.asUser('alice');
  await alice.request('PUT', '/v1/buckets/u');
  const { body } = await alice.request('PUT', '/v1/buckets/u/collections/c');
  const { last_modified: taken } = /** @type {{ data: { last_modified: number } }} */ (body).data;
  await alice.request('PUT', '/v1/buckets/u/collections/c/records/r');
  await alice.request('PUT', '/v1/buckets/u/collections/newer');
  const requests = [
    { method: 'POST', path: '/buckets/u/collections/c/records/r/publish' },
    // A timestamp that is taken is a conflict, which undoes everything.
    { method: 'PUT', path: '/buckets/u/collections/d', body: { data: { last_modified: taken } } },
  ];
  await alice.request('POST', '/v1/batch', { body: { requests } });
  const record = await alice.request('GET', '/v1/buckets/u/collections/c/records/r');
  assert.equal(record.text.includes('published'), false);
});

test('The root view shows the capability and the public setting.', async () => {
  const { body } = await service.request('GET', '/v1/');
  const { capabilities, settings } = /** @type {{ capabilities: object, settings: object }} */ (body);
  assert.equal('newsroom' in capabilities, true);
  assert.deepEqual(
    Object.entries(settings).filter(([name]) => name.startsWith('newsroom')),
    [['newsroom.max_title_length', 20]],
  );
});

test('It is loaded by the name of its package, and by path.', async () => {
  for (const includes of ['coffer-plugin-newsroom', './src/index.js']) {
    const loaded = await startTestService({ settings: { includes, record_id_generator: 'DatedName' } });
    assert.equal((await loaded.asUser('alice').request('GET', '/v1/drafts')).status, 200, includes);
    await loaded.close();
  }
});

test('Wrong settings are reported at start.', async () => {
  const settings = { 'newsroom.labels': 'editors', 'newsroom.max_title_length': '0' };
  await assert.rejects(startTestService({ plugins: [newsroom], settings }), (/** @type {Error} */ error) => {
    assert.match(error.message, /newsroom\.labels = "editors".*label=user/);
    assert.match(error.message, /newsroom\.max_title_length = "0".*1 or more/);
    return true;
  });
});

test('The listener has counted what was kept.', async () => {
  await service.close();
  assert.equal(counts['draft.create'], 1);
  assert.equal(counts['story.create'], 1);
  assert.equal(counts['record.update'], 1);
  service = await startTestService();
});
