// Hostile ids in every position of every address, sent in every way: each is refused, and the objects whose ids they resemble
// stay as they are. `COFFER_HOSTILE_IDS` says how many requests are tried on each backend, or `all` of them: 2000 unless it
// is set, and 600 in the short run. COFFER_FUZZ_SEED repeats a choice.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { dumpStores } from '../transfer/copy/dump.ts';
import { accountSettings, basic, openDoor, signUp } from '../plugins/accounts/service.ts';
import { FileFolder, upload } from '../support/attachments.ts';
import { encodePath, hostileIdsNear } from '../support/hostile-ids.ts';
import { userIdOf } from '../support/signing.ts';
import type { TestService } from '../../src/testing/index.ts';
import { Attacks, attackService, shapes, verbs, type Attack } from './id-attacks.ts';
import { backends, startWatched } from './service.ts';
import { inExtent } from '../support/extent.ts';

const attacks = new Attacks();
const { COFFER_HOSTILE_IDS: wanted = String(inExtent(600, 2000)) } = process.env;
const isWhole = wanted === 'all';
const seed = Number(process.env['COFFER_FUZZ_SEED'] ?? String(Date.now() % 2 ** 31));
const atOnce = 8;
/** Nothing else may be the answer to an address with an id that cannot exist. */
const refusals: readonly number[] = [400, 401, 403, 404, 405, 415];

function numbersToTry(): readonly number[] {
  if (isWhole) return Array.from({ length: attacks.count }, (_, number) => number);
  return fc.sample(fc.noBias(fc.nat(attacks.count - 1)), { seed, numRuns: Number(wanted) });
}

describe.each(backends)('hostile ids in addresses on $name', (backend) => {
  it(
    `are refused and change nothing (seed ${seed})`,
    async () => {
      const folder = await FileFolder.create();
      const door = openDoor();
      const settings = {
        includes: 'default_bucket history attachments changes',
        'attachment.base_path': folder.path,
        'changes.resources': '/buckets/p',
      };
      const { service, errors } = await startWatched(backend, settings, [door.plugin]);
      try {
        await createNeighbours(service);
        const before = await lookAt(service);
        const dump = await dumpStores(door.stores());
        const statuses = await tryAll(service);
        expect(await dumpStores(door.stores())).toEqual(dump);
        expect(await lookAt(service)).toEqual(before);
        expect(errors).toEqual([]);
        console.log(`${backend.name}: ${[...statuses].map(([status, count]) => `${status}: ${count}`).join(', ')}`);
        expect([...statuses.keys()]).toEqual(expect.arrayContaining([400, 401, 403]));
      } finally {
        await service.close();
        await folder.remove();
      }
    },
    isWhole ? 7_200_000 : 60_000 + Number(wanted) * 20,
  );

  it('find nothing as the values of filters', async () => {
    const { service, errors } = await startWatched(backend);
    try {
      await service.request('PUT', '/v1/buckets/p', { auth: 'owner' });
      await service.request('PUT', '/v1/buckets/p/groups/c', { auth: 'owner' });
      const found: unknown[] = [];
      for (const [name, near] of [
        ['bucket_id', 'p'],
        ['id', 'c'],
        ['group_id', 'c'],
        ['uri', '/buckets/p'],
      ] as const) {
        for (const id of hostileIdsNear(near)) {
          for (const list of ['/permissions', '/buckets/p/groups']) {
            // A comma parts the values of `in_`.
            for (const filter of id.includes(',') ? [name] : [name, `in_${name}`]) {
              const path = `/v1${list}?${filter}=${encodeURIComponent(id)}`;
              const { status, body } = await service.request('GET', path, { auth: 'owner' });
              const isEmpty = status === 200 && (body as { data: unknown[] }).data.length === 0;
              if (!isEmpty && status !== 400) found.push([path, status, body]);
            }
          }
        }
      }
      expect(found).toEqual([]);
      expect(errors).toEqual([]);
    } finally {
      await service.close();
    }
  }, 60_000);
});

describe.each(backends)('hostile names of accounts on $name', (backend) => {
  it('are refused and change nothing', async () => {
    const door = openDoor();
    const { service, errors } = await startWatched(backend, accountSettings, [door.plugin]);
    try {
      expect((await signUp(service, 'p', 'password of p')).status).toBe(201);
      const own = { Authorization: basic('p', 'password of p') };
      const before = await service.request('GET', '/v1/accounts/p', { headers: own });
      expect(before.status).toBe(200);
      const dump = await dumpStores(door.stores());
      const wrong: unknown[] = [];
      for (const id of hostileIdsNear('p').filter(
        (each) => each.length > 512 || !/^[a-zA-Z0-9][\w+.@-]*$/.test(each),
      )) {
        for (const verb of verbs) {
          for (const headers of [own, {}]) {
            const body = verb.startsWith('P') ? { body: { data: { password: 'another' } } } : {};
            const { status } = await service.request(verb, `/v1${encodePath(`/accounts/${id}`)}`, { headers, ...body });
            if (!refusals.includes(status)) wrong.push([verb, id, status]);
          }
        }
      }
      expect(wrong).toEqual([]);
      expect(errors).toEqual([]);
      expect(await dumpStores(door.stores())).toEqual(dump);
      expect((await service.request('GET', '/v1/accounts/p', { headers: own })).text).toBe(before.text);
    } finally {
      await service.close();
    }
  }, 60_000);
});

describe('the attack', () => {
  it('has at least 45 ids and 16 shapes of addresses, and no id that a rule accepts', () => {
    for (const near of new Set(shapes.map((shape) => shape.near))) {
      const ids = hostileIdsNear(near);
      expect(ids.length).toBeGreaterThanOrEqual(45);
      expect(ids.filter((id) => id.length <= 512 && /^[a-zA-Z0-9][\w-]*$/.test(id))).toEqual([]);
      expect(ids.filter((id) => id.includes('/'))).toEqual([]);
    }
    expect(shapes.length).toBeGreaterThanOrEqual(16);
  });
});

/** Objects whose ids the hostile ones resemble. */
async function createNeighbours(service: TestService): Promise<void> {
  const owner = service.asUser('owner');
  const maker = await userIdOf(service.asUser('maker'));
  const put = async (path: string, permissions: object = {}): Promise<void> => {
    const { status, text } = await owner.request('PUT', `/v1${path}`, { body: { permissions } });
    if (status !== 201) throw new Error(`${path}: ${status} ${text}`);
  };
  for (const bucket of ['p', 'p_', 'c']) {
    await put(`/buckets/${bucket}`, bucket === 'p' ? { 'collection:create': [maker], 'group:create': [maker] } : {});
    for (const id of ['c', 'c_', 'p']) {
      await put(`/buckets/${bucket}/groups/${id}`);
      await put(`/buckets/${bucket}/collections/${id}`, id === 'c' ? { 'record:create': [maker] } : {});
      await put(`/buckets/${bucket}/collections/${id}/records/c`);
    }
  }
  const { status } = await upload(owner, '/buckets/p/collections/c/records/c');
  expect(status).toBe(200);
}

/** What owner and maker see of these objects, byte by byte. */
async function lookAt(service: TestService): Promise<readonly (readonly unknown[])[]> {
  const seen: (readonly unknown[])[] = [];
  const below = ['', '/c', '/c/records', '/c/records/c', '/c/changeset?_expected=0'];
  const paths = ['p', 'p_', 'c'].flatMap((bucket) => [
    `/buckets/${bucket}`,
    `/buckets/${bucket}/groups`,
    `/buckets/${bucket}/groups/c`,
    ...below.map((rest) => `/buckets/${bucket}/collections${rest}`),
    `/buckets/${bucket}/history`,
    `/buckets/${bucket}/snapshot/collections/c@9000000000000`,
  ]);
  for (const auth of ['owner', 'maker']) {
    for (const path of ['/buckets', '/permissions', ...paths]) {
      const { status, headers, text } = await service.request('GET', `/v1${path}`, { auth });
      seen.push([auth, path, status, headers['etag'], text]);
    }
  }
  return seen;
}

/** Tries the chosen attacks. @returns how many were answered with which status */
async function tryAll(service: TestService): Promise<ReadonlyMap<number, number>> {
  const numbers = [...numbersToTry()];
  const statuses = new Map<number, number>();
  const wrong: (readonly [Attack, number])[] = [];
  const tryNext = async (): Promise<void> => {
    for (let number = numbers.pop(); number !== undefined; number = numbers.pop()) {
      const attack = attacks.attack(number);
      const status = await attackService(service, attack);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (!refusals.includes(status)) wrong.push([attack, status]);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, tryNext));
  expect(wrong.slice(0, 20)).toEqual([]);
  return statuses;
}
