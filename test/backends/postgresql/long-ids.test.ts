// Ids that are longer than the database can index, which `max_id_length` allows where it is raised or switched off.
import { randomBytes } from 'node:crypto';
import { expect, it, onTestFinished } from 'vitest';
import { startTestService } from '../../../src/testing/index.ts';
import { postgresqlSettings } from '../../support/backends.ts';
import { borrowDatabase } from '../../support/postgresql.ts';

it('Ids longer than the database can index are refused with 400, and simultaneous writes succeed.', async () => {
  const { url, giveBack } = await borrowDatabase();
  const settings = { ...postgresqlSettings(url), max_id_length: '0', bucket_create_principals: 'system.Authenticated' };
  const service = await startTestService({ settings });
  onTestFinished(async () => {
    await service.close();
    await giveBack();
  });
  const alice = service.asUser('alice');
  const records = '/v1/buckets/b/collections/c/records';
  for (const path of ['/v1/buckets/b', '/v1/buckets/b/collections/c']) await alice.request('PUT', path);
  const long = randomBytes(4000).toString('hex');
  expect(await alice.request('PUT', `/v1/buckets/${long}`)).toMatchObject({ status: 400, body: { errno: 107 } });
  const ids = Array.from({ length: 10 }, (_, n) => (n === 5 ? long : `r${n}`));
  const answers = await Promise.all(ids.map((id) => alice.request('PUT', `${records}/${id}`)));
  expect(answers.map(({ status }) => status)).toEqual(ids.map((id) => (id === long ? 400 : 201)));
});
