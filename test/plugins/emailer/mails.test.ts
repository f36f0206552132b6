// Mails for changes: events, recipients and content.
import { describe, expect, it } from 'vitest';
import { allBackends } from '../../support/backends.ts';
import { startMailSink } from '../../support/mail-sink.ts';
import { collection, team, mailSettings, putRecord, saveHooks, start } from './service.ts';

const recordHook = {
  resource_name: 'record',
  template: '{action} {id}',
  subject: '{action} {id}',
  recipients: [team],
};

describe.each(allBackends)('Mails about changes on $name', (backend) => {
  it('are sent after the commit for each created, updated or deleted record.', async () => {
    const sink = await startMailSink();
    const service = await backend.start({ settings: mailSettings(sink) });
    try {
      const owner = service.asUser('owner');
      await owner.request('PUT', '/v1/buckets/food');
      expect((await saveHooks(owner, [recordHook])).status).toBe(201);
      await putRecord(owner, 'apple');
      await sink.received(1);
      await putRecord(owner, 'apple', { color: 'red' });
      await sink.received(2);
      await owner.request('DELETE', `${collection}/records/apple`);
      const letters = await sink.received(3);
      expect(letters.map(({ text }) => text)).toEqual(['create apple', 'update apple', 'delete apple']);
      expect(letters[0]).toMatchObject({ subject: 'create apple', to: [team], from: 'coffer@localhost' });
    } finally {
      await service.close();
    }
  });
});

describe('The text of a mail', () => {
  const names = [
    'bucket_id',
    'collection_id',
    'record_id',
    'id',
    'user_id',
    'resource_name',
    'uri',
    'action',
    'root_url',
    'client_address',
    'user_agent',
    'event',
    'settings[project_name]',
    'unknown',
  ];

  it('has the values of the change in place of placeholders.', async () => {
    const { service, owner, sink } = await start({ settings: { project_name: 'Larder' } });
    const template = [...names.map((name) => `{${name}}`), '{{id}}', '{timestamp}'].join('\n');
    await saveHooks(owner, [{ ...recordHook, template }]);
    await owner.request('PUT', `${collection}/records/apple`, { headers: { 'User-Agent': 'tests {id}' }, body: {} });
    const [letter] = await sink.received(1);
    const { body } = await owner.request('GET', '/v1/');
    const { user } = body as { readonly user: { readonly id: string } };
    const lines = letter!.text.split('\n').map((line) => line.trimEnd());
    expect(lines.slice(0, -1)).toEqual([
      'food',
      'fruits',
      'apple',
      'apple',
      user.id,
      'record',
      '/buckets/food/collections/fruits/records/apple',
      'create',
      `${service.origin}/v1/`,
      '127.0.0.1',
      'tests {id}',
      'AfterResourceChanged',
      'Larder',
      '{unknown}',
      '{id}',
    ]);
    const record = await owner.request('GET', `${collection}/records/apple`);
    expect(`"${lines.at(-1)!}"`).toBe(record.headers['etag']);
  });

  it('shows no secrets of the service.', async () => {
    const { owner, sink } = await start();
    await saveHooks(owner, [{ ...recordHook, template: '{settings[userid_hmac_secret]}' }]);
    await putRecord(owner, 'apple');
    const [letter] = await sink.received(1);
    expect(letter!.text).toBe('{settings[userid_hmac_secret]}');
  });

  it('has a default subject, and the sender of the hook if given.', async () => {
    const { owner, sink } = await start();
    const sender = 'The larder <larder@example.org>';
    await saveHooks(owner, [{ resource_name: 'record', template: 'x', recipients: [team], sender }]);
    await putRecord(owner, 'apple');
    const [letter] = await sink.received(1);
    expect(letter).toMatchObject({
      from: 'larder@example.org',
      subject: 'create /buckets/food/collections/fruits/records/apple',
    });
    expect(letter!.raw).toContain(`From: ${sender}\r\n`);
  });

  it('cannot add headers to the mail.', async () => {
    const { owner, sink } = await start();
    await saveHooks(owner, [{ ...recordHook, subject: 'a\r\nBcc: eve@example.org\r\n\r\nb \u2028 {id}' }]);
    await putRecord(owner, 'apple');
    const [letter] = await sink.received(1);
    expect(letter!.to).toEqual([team]);
    expect(letter!.raw).not.toMatch(/^Bcc:/im);
    expect(letter!.text).toBe('create apple');
  });
});

describe('Hooks', () => {
  it('of a collection replace those of its bucket.', async () => {
    const { owner, sink } = await start();
    const hook = (template: string): object => ({ ...recordHook, template, subject: '{collection_id}' });
    await saveHooks(owner, [hook('bucket')], '/v1/buckets/food');
    await saveHooks(owner, [hook('collection')]);
    await saveHooks(owner, [], '/v1/buckets/food/collections/quiet');
    await owner.request('PUT', '/v1/buckets/food/collections/other');
    for (const id of ['fruits', 'quiet', 'other']) {
      await owner.request('PUT', `/v1/buckets/food/collections/${id}/records/r`, { body: {} });
    }
    const letters = await sink.received(2);
    expect(letters.map(({ subject, text }) => `${subject} ${text}`).toSorted()).toEqual([
      'fruits collection',
      'other bucket',
    ]);
  });

  it('without filters match records and the collection itself, including its deletion.', async () => {
    const { owner, sink } = await start();
    await saveHooks(owner, [{ template: '{resource_name} {action}', recipients: [team] }]);
    await sink.received(1);
    await putRecord(owner, 'apple');
    await sink.received(2);
    await owner.request('DELETE', collection);
    const letters = await sink.received(3);
    expect(letters.map(({ text }) => text)).toEqual(['collection create', 'record create', 'collection delete']);
  });

  it.each<[string, object, readonly string[]]>([
    ['an action', { action: 'create' }, ['create apple', 'create avocado', 'create pear']],
    ['the id of a record', { record_id: 'apple' }, ['create apple', 'update apple']],
    ['an id', { id: 'apple' }, ['create apple', 'update apple']],
    ['a pattern', { id: '^a' }, ['create apple', 'create avocado', 'update apple']],
    ['a pattern with alternatives', { id: '^vocado|pear' }, ['create pear']],
    ['the collection', { collection_id: '^fru', action: 'update' }, ['update apple']],
    ['an event', { event: 'kinto.core.events.AfterResourceChanged', action: 'update' }, ['update apple']],
    ['an event by pattern', { event: '^.*ResourceChanged$', id: 'pear' }, ['create pear']],
    ['several things', { action: '^(update|delete)$', id: '^ap+le$' }, ['update apple']],
  ])('can be restricted by %s.', async (_what, filters, expected) => {
    const { owner, sink } = await start();
    const never = [
      { event: 'ReviewRequested' },
      { collection_id: 'fruit' },
      { resource_name: 'recor' },
      { id: 'APPLE' },
    ];
    await saveHooks(owner, [
      { ...recordHook, ...filters },
      ...never.map((filter) => ({ ...recordHook, ...filter, template: 'never' })),
    ]);
    await putRecord(owner, 'apple');
    await putRecord(owner, 'avocado');
    await putRecord(owner, 'pear');
    await putRecord(owner, 'apple', { color: 'red' });
    const letters = await sink.received(expected.length);
    expect(letters.map(({ text }) => text).toSorted()).toEqual(expected);
  });

  it('send one mail for each object and each matching hook.', async () => {
    const { owner, sink } = await start();
    await saveHooks(owner, [recordHook, { ...recordHook, template: 'again {id}', action: 'create' }]);
    const requests = ['a', 'b'].map((id) => ({ method: 'PUT', path: `${collection}/records/${id}`, body: {} }));
    expect((await owner.request('POST', '/v1/batch', { body: { requests } })).status).toBe(200);
    await sink.received(4);
    await owner.request('DELETE', `${collection}/records`);
    const letters = await sink.received(6);
    expect(letters.map(({ text }) => text).toSorted()).toEqual([
      'again a',
      'again b',
      'create a',
      'create b',
      'delete a',
      'delete b',
    ]);
  });
});

describe('Recipients', () => {
  it('can be groups, whose members with addresses get one mail each.', async () => {
    const { owner, sink } = await start();
    const members = [
      'account:zoe@example.org',
      'ldap:ann@example.org',
      'basicauth:0123abcd',
      'account:TEAM@example.org',
    ];
    await owner.request('PUT', '/v1/buckets/food/groups/cooks', { body: { data: { members } } });
    const recipients = [`The team <${team}>`, '/buckets/food/groups/cooks', '/buckets/food/groups/gone'];
    await saveHooks(owner, [{ ...recordHook, recipients }]);
    await putRecord(owner, 'apple');
    const [letter] = await sink.received(1);
    expect(letter!.to).toEqual([team, 'zoe@example.org', 'ann@example.org']);
  });

  it('that do not exist get no mail, and the limit applies to addresses.', async () => {
    const { owner, sink } = await start({ settings: { 'emailer.max_recipients': '2' } });
    const members = ['a@example.org', 'b@example.org', 'c@example.org'];
    await owner.request('PUT', '/v1/buckets/food/groups/many', { body: { data: { members } } });
    await owner.request('PUT', '/v1/buckets/food/groups/empty', { body: { data: { members: ['basicauth:x'] } } });
    await saveHooks(owner, [
      { ...recordHook, recipients: ['/buckets/food/groups/empty'] },
      { ...recordHook, recipients: ['/buckets/food/groups/many'] },
    ]);
    await putRecord(owner, 'apple');
    const letters = await sink.received(1);
    expect(letters.map(({ to }) => to)).toEqual([['a@example.org', 'b@example.org']]);
  });
});
