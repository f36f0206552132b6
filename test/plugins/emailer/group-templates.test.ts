// URIs of groups with placeholders: filled for each change. Saving them requires read permission on all groups of the bucket.
import { expect, it, onTestFinished } from 'vitest';
import type { TestClient, TestResponse } from '../../../src/testing/index.ts';
import { forEachBackend } from '../../support/backends.ts';
import { startMailSink, type MailSink } from '../../support/mail-sink.ts';
import { collection, mailSettings, putRecord, saveHooks, team } from './service.ts';

const editors = '/buckets/food/groups/{collection_id}-editors';
const hook = { resource_name: 'record', template: '{id}', subject: '{id}' };

forEachBackend((backend) => {
  const open = async (
    settings: Readonly<Record<string, string>> = {},
  ): Promise<{ owner: TestClient; guest: TestClient; sink: MailSink }> => {
    const sink = await startMailSink();
    const service = await backend.start({ settings: { ...mailSettings(sink), ...settings } });
    onTestFinished(() => service.close());
    const [owner, guest] = [service.asUser('owner'), service.asUser('guest')];
    await owner.request('PUT', '/v1/buckets/food');
    return { owner, guest, sink };
  };
  const createGroup = (client: TestClient, id: string, member: string): Promise<TestResponse> =>
    client.request('PUT', `/v1/buckets/food/groups/${id}`, { body: { data: { members: [`account:${member}`] } } });

  it(`the group depends on the change on ${backend.name}.`, async () => {
    const { owner, sink } = await open();
    await createGroup(owner, 'fruits-editors', 'fay@example.org');
    await createGroup(owner, 'herbs-editors', 'hal@example.org');
    await createGroup(owner, 'apple', 'ann@example.org');
    const recipients = [editors, '/buckets/food/groups/{record_id}'];
    expect((await saveHooks(owner, [{ ...hook, recipients }], '/v1/buckets/food')).status).toBe(200);
    await owner.request('PUT', collection);
    await owner.request('PUT', '/v1/buckets/food/collections/herbs');
    const paths = ['fruits/records/apple', 'fruits/records/pear', 'herbs/records/dill'];
    const requests = paths.map((path) => ({ method: 'PUT', path: `/buckets/food/collections/${path}`, body: {} }));
    expect((await owner.request('POST', '/v1/batch', { body: { requests } })).status).toBe(200);
    const letters = await sink.received(3);
    expect(letters.map(({ text, to }) => `${text}: ${to.join(' ')}`).toSorted()).toEqual([
      'apple: fay@example.org ann@example.org',
      'dill: hal@example.org',
      'pear: fay@example.org',
    ]);
  });

  it(`values that make no valid id of a group name none on ${backend.name}.`, async () => {
    const { owner, sink } = await open({ record_id_generator: 'NameGenerator', group_id_generator: 'UUID4' });
    const id = '0d8f6f4e-7b1c-4f5a-9a67-3f3f1c2b7a10';
    await createGroup(owner, id, 'ann@example.org');
    expect((await saveHooks(owner, [{ ...hook, recipients: [editors] }])).status).toBe(400);
    const recipients = ['/buckets/food/groups/{record_id}'];
    expect((await saveHooks(owner, [{ ...hook, recipients }])).status).toBe(201);
    await putRecord(owner, 'apple');
    await putRecord(owner, id);
    const letters = await sink.received(1);
    expect(letters.map(({ text, to }) => [text, ...to])).toEqual([[id, 'ann@example.org']]);
  });

  it(`a placeholder without a value names no group on ${backend.name}.`, async () => {
    const { owner, sink } = await open();
    await createGroup(owner, 'apple', 'ann@example.org');
    const recipients = [team, '/buckets/food/groups/{record_id}'];
    const both = { template: '{resource_name}', action: 'update', recipients };
    await saveHooks(owner, [both]);
    await putRecord(owner, 'apple');
    await owner.request('PATCH', collection, { body: { data: { title: 'Fruits' } } });
    await putRecord(owner, 'apple', { color: 'red' });
    const letters = await sink.received(2);
    expect(letters.map(({ text, to }) => `${text}: ${to.join(' ')}`)).toEqual([
      `collection: ${team}`,
      `record: ${team} ann@example.org`,
    ]);
  });

  it(`saving requires read permission on all groups of the bucket on ${backend.name}.`, async () => {
    const { owner, guest } = await open();
    const shared = { read: ['system.Authenticated'] };
    await owner.request('PUT', '/v1/buckets/food/groups/fruits-editors', { body: { permissions: shared } });
    await owner.request('PUT', collection, { body: { permissions: { write: ['system.Authenticated'] } } });
    const fine = { ...hook, action: 'delete', recipients: [team] };
    const hooks = (more: object = {}): object[] => [fine, { ...fine, recipients: [team, editors], ...more }];
    const refused = {
      status: 400,
      body: { errno: 107, details: [{ name: 'data.kinto-emailer.hooks.1.recipients' }] },
    };
    // The group that the placeholder names now is readable; those that it may name later are not.
    const named = { recipients: ['/buckets/food/groups/fruits-editors'] };
    expect((await saveHooks(guest, hooks(named))).status).toBe(200);
    expect(await saveHooks(guest, hooks())).toMatchObject(refused);
    expect((await saveHooks(owner, hooks())).status).toBe(200);
    // An equal hook stays valid, a changed one does not.
    expect((await saveHooks(guest, hooks())).status).toBe(200);
    expect(await saveHooks(guest, hooks({ recipients: ['bob@evil.example', editors] }))).toMatchObject(refused);
    await owner.request('PATCH', '/v1/buckets/food', { body: { permissions: shared } });
    expect((await saveHooks(guest, hooks({ template: 'y' }))).status).toBe(200);
  });
});
