// The cycle of one client of a soak. It creates a collection, fills, reads, follows, shares, empties and deletes it. Names are
// the same in each cycle, so the size of the stored data stays constant.
import { attributes, bucket, recordId, records, user } from '../lib/data.mjs';

/**
 * @typedef {import('./client.mjs').Clients} Clients
 *
 * @typedef {object} World
 * @property {number} size records in the large list
 */

const entries = 10;
/** Enough users to fill every cache of user data. */
const visitors = 5000;
/** Records in the collection of a client, those of its batch included. */
const own = 18;

/** Permits clients to create their collections. @param {Clients} clients */
export async function prepare(clients) {
  const permissions = { 'collection:create': ['system.Authenticated'], 'group:create': ['system.Authenticated'] };
  await clients.ask({ by: 'owner', method: 'PATCH', path: bucket, data: { permissions } });
}

/**
 * Runs one cycle of a client.
 *
 * @param {Clients} clients
 * @param {World} world
 * @param {number} lane number of the client
 * @param {number} life how often it has lived
 */
export async function live(clients, world, lane, life) {
  const me = `client${lane}`;
  const collection = `${bucket}/collections/soak${lane}`;
  const group = `${bucket}/groups/soak${lane}`;
  const list = `${collection}/records`;
  const ask = (/** @type {import('./client.mjs').Question} */ question) => clients.ask({ by: me, ...question });
  const require = (/** @type {boolean} */ isTrue, /** @type {string} */ what) => {
    if (!isTrue) throw clients.complain(`${list}: ${what}`);
  };

  await ask({ method: 'PUT', path: collection, data: { permissions: { read: [group] } }, expected: [201] });
  for (let n = 0; n < own - entries; n++)
    await ask({ method: 'PUT', path: `${list}/r${n}`, data: { data: attributes(life + n) }, expected: [201] });
  await batch();
  await read();
  await follow();
  await share();
  if (life % 4 === 0) await attach();
  await fail();
  await empty();

  async function batch() {
    const requests = Array.from({ length: entries }, (_, n) => ({
      method: 'PUT',
      path: `${list}/b${n}`,
      body: { data: attributes(n) },
    }));
    const { text } = await ask({ method: 'POST', path: '/batch', data: { requests } });
    const { responses } = JSON.parse(text);
    const isDone = responses.every((/** @type {{ status: number }} */ { status }) => status === 201);
    require(isDone, `an entry of a batch failed: ${text.slice(0, 300)}`);
  }

  async function read() {
    for (let n = 0; n < 16; n++) {
      const { text } = await ask({ path: `${list}/r${n % 8}` });
      require(JSON.parse(text).data.title === `Record ${life + (n % 8)}`, 'a record is not what was written');
      const scattered = (lane * 7919 + life * 104_729 + n * 31) % world.size;
      await ask({ by: 'owner', path: `${records}/${recordId(scattered)}` });
    }
    const { headers } = await ask({ method: 'HEAD', path: list });
    require(Number(headers['total-objects']) === own, `${String(headers['total-objects'])} in place of ${own} records`);
    const { headers: first, text } = await ask({ path: `${list}?_limit=10` });
    require(JSON.parse(text).data.length === 10, 'a page is too short');
    const next = new URL(String(first['next-page']));
    const { text: rest } = await ask({ path: next.pathname.replace('/v1', '') + next.search });
    require(JSON.parse(rest).data.length === own - 10, 'a second page is too short');
    await ask({ by: 'owner', path: `${records}?_limit=50` });
    await ask({ path: `${list}?min_count=${(life * 37) % 1000}&_sort=-count&_limit=5` });
    await ask({ by: 'owner', path: `${records}?count=${(life * 7919 + lane) % 100_003}` });
    await ask({ path: list, isAlone: true });
    await ask({ by: 'owner', path: `${records}?_limit=1000`, isLeft: true });
  }

  async function follow() {
    const { headers } = await ask({ path: list });
    const etag = String(headers.etag);
    for (let n = 0; n < 8; n++) await ask({ path: list, headers: { 'if-none-match': etag }, expected: [304] });
    await ask({ method: 'PATCH', path: `${list}/r1`, data: { data: { done: life } } });
    await ask({ path: list, headers: { 'if-none-match': etag } });
    for (let n = 0; n < 4; n++) {
      const { text } = await ask({ path: `${list}?_since=${encodeURIComponent(etag)}` });
      require(JSON.parse(text).data.length === 1, 'there is not one change');
    }
    const conditions = { 'if-match': etag };
    await ask({ method: 'PUT', path: `${list}/r1`, data: { data: {} }, headers: conditions, expected: [412] });
  }

  async function share() {
    const visitor = `visitor${(lane * 7919 + life * 13) % visitors}`;
    const shared = `${list}/r0`;
    await ask({ by: visitor, path: shared, expected: [403] });
    const members = [user(visitor).principal];
    await ask({ method: 'PUT', path: group, data: { data: { members } }, expected: [201] });
    await ask({ by: visitor, path: shared });
    await ask({ by: visitor, path: list });
    await ask({ method: 'PUT', path: group, data: { data: { members: [] } } });
    await ask({ by: visitor, path: shared, expected: [403] });
  }

  async function attach() {
    const type = { 'content-type': 'multipart/form-data; boundary=of-the-soak' };
    const part = 'Content-Disposition: form-data; name="attachment"; filename="a.txt"\r\nContent-Type: text/plain';
    const content = 'x'.repeat(20_000);
    const bytes = Buffer.from(`--of-the-soak\r\n${part}\r\n\r\n${content}\r\n--of-the-soak--\r\n`);
    const path = `${list}/r2/attachment`;
    const { text } = await ask({ method: 'POST', path, bytes, headers: type });
    const file = await ask({ path: JSON.parse(text).location.replace('/v1', '') });
    require(file.text === content, 'a file is not what was uploaded');
    // Every second upload deletes its file here. The other files are deleted with their record.
    if (life % 8 === 0) await ask({ method: 'DELETE', path, expected: [204] });
  }

  async function fail() {
    await ask({ path: `${list}/none`, expected: [404] });
    await ask({ method: 'PUT', path: `${list}/none`, bytes: Buffer.from('{"data"'), expected: [400] });
    await ask({ method: 'PUT', path: `${list}/r3`, data: {}, headers: { 'if-none-match': '*' }, expected: [412] });
    await ask({ path: `${list}?_limit=x`, expected: [400] });
    await clients.ask({ path: list, expected: [401] });
  }

  async function empty() {
    for (let n = 0; n < 4; n++) await ask({ method: 'DELETE', path: `${list}/r${n}` });
    await ask({ method: 'DELETE', path: `${list}?_limit=5` });
    await ask({ method: 'DELETE', path: group });
    // Also deletes the remaining records.
    await ask({ method: 'DELETE', path: collection });
    await ask({ path: collection, expected: [403, 404] });
  }
}

/** Removes the data of a failed cycle. @param {Clients} clients @param {number} lane */
export async function clear(clients, lane) {
  const expected = [200, 403, 404];
  for (const path of [`${bucket}/groups/soak${lane}`, `${bucket}/collections/soak${lane}`])
    await clients.ask({ by: `client${lane}`, method: 'DELETE', path, expected });
}
