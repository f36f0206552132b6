// Validation of hooks when they are saved.
import { describe, expect, it } from 'vitest';
import { collection, team, saveHooks, start } from './service.ts';

const fine = { template: 'x', recipients: [team] };

describe('Saving hooks', () => {
  it.each<[string, unknown]>([
    ['hooks.0', ['x']],
    ['hooks', undefined],
    ['hooks', { 0: fine }],
    ['hooks', Array.from({ length: 21 }, () => fine)],
    ['hooks.0.template', [{ recipients: [team] }]],
    ['hooks.0.template', [{ ...fine, template: 1 }]],
    ['hooks.0.template', [{ ...fine, template: 'x'.repeat(10_001) }]],
    ['hooks.1.recipients', [fine, { template: 'x' }]],
    ['hooks.0.recipients', [{ ...fine, recipients: [] }]],
    ['hooks.0.recipients', [{ ...fine, recipients: team }]],
    ['hooks.0.recipients', [{ ...fine, recipients: Array.from({ length: 101 }, () => team) }]],
    ['hooks.0.subject', [{ ...fine, subject: ['x'] }]],
    ['hooks.0.sender', [{ ...fine, sender: 'somebody' }]],
    ['hooks.0.sender', [{ ...fine, sender: 'a@example.org\r\nBcc: b@example.org' }]],
    ['hooks.0.action', [{ ...fine, action: 1 }]],
    ['hooks.0.id', [{ ...fine, id: '^(' }]],
    ['hooks.0.id', [{ ...fine, id: '^a)|(b' }]],
    ['hooks.0.id', [{ ...fine, id: String.raw`^(a)\1` }]],
  ])('an invalid %s is refused with its name: %j.', async (name, hooks) => {
    const { owner } = await start();
    const answer = await saveHooks(owner, hooks);
    expect([answer.status, answer.body]).toMatchObject([
      400,
      { errno: 107, details: [{ location: 'body', name: `data.kinto-emailer.${name}` }] },
    ]);
    expect((await owner.request('GET', collection)).status).toBe(404);
  });

  it.each([
    'somebody',
    '',
    null,
    5,
    '@example.org',
    'a@',
    'a@b@c, d@example.org',
    'a@example.org, b@example.org',
    'a@example.org;b@example.org',
    'Team: a@example.org;',
    'a@example.org\nBcc: b@example.org',
    'Zoe\r\n <a@example.org>',
    'Zoe <a@example.org> <b@example.org>',
    '"Zoe" b@example.org <a@example.org>',
    'a@example..org',
    'a@-example.org',
    'a b@example.org',
    '/buckets/other/groups/g',
    '/buckets/food/groups/',
    '/buckets/food/groups/a/b',
    '/buckets/food/collections/fruits',
    '/buckets/{bucket_id}/groups/g',
    '/buckets/food/groups/{unknown}',
    '/buckets/food/groups/{user_agent}',
    '/buckets/food/groups/{collection_id}{',
    '/buckets/food/groups/{{collection_id}}',
    '/buckets/food/groups/{collection_id}!',
    '/buckets/food/groups/{collection_id}/{id}',
    `/buckets/food/groups/{id}${'x'.repeat(500)}`,
  ])('%j is not a recipient.', async (recipient) => {
    const { owner } = await start();
    const answer = await saveHooks(owner, [{ ...fine, recipients: [team, recipient] }]);
    expect([answer.status, answer.body]).toMatchObject([
      400,
      { details: [{ name: 'data.kinto-emailer.hooks.0.recipients.1' }] },
    ]);
  });

  it.each([
    'a@localhost',
    'Zoe <zoe+fruits@mail.example.org>',
    '"Zoe, cook" <zoe@example.org>',
    '<zoe@example.org>',
    "o'hara@example.org",
    'jörg@exämple.org',
    'Jörg <j@example.org>',
    '/buckets/food/groups/cooks',
    '/buckets/food/groups/{bucket_id}-{collection_id}-{record_id}-{id}-{resource_name}-{action}',
  ])('%j is a recipient.', async (recipient) => {
    const { owner } = await start();
    expect((await saveHooks(owner, [{ ...fine, resource_name: 'record', recipients: [recipient] }])).status).toBe(201);
  });

  it.each([null, 1, 'x', []])('an attribute that is not an object is refused: %j.', async (value) => {
    const { owner } = await start();
    const body = { data: { 'kinto-emailer': value } };
    expect((await owner.request('PUT', collection, { body })).status).toBe(400);
    expect((await owner.request('PATCH', '/v1/buckets/food', { body })).status).toBe(400);
  });

  it('buckets are validated like collections, other objects are not.', async () => {
    const { owner } = await start();
    expect((await saveHooks(owner, [{}], '/v1/buckets/food')).status).toBe(400);
    expect(await saveHooks(owner, undefined, '/v1/buckets/food')).toMatchObject({ status: 400, body: { errno: 107 } });
    expect((await saveHooks(owner, [], '/v1/buckets/food')).status).toBe(200);
    expect((await saveHooks(owner, [{}], '/v1/buckets/drinks')).status).toBe(400);
    expect((await saveHooks(owner, [{}], '/v1/buckets/food/groups/g')).status).toBe(201);
  });

  it('a pattern with exponential backtracking elsewhere runs in linear time.', async () => {
    const { owner } = await start();
    const hook = { ...fine, resource_name: 'record', record_id: '^(a+)+$' };
    await saveHooks(owner, [hook]);
    const path = `${collection}/records/${'a'.repeat(200)}b`;
    expect((await owner.request('PUT', path, { body: {} })).status).toBe(201);
  });

  it('naming a group requires read permission on it.', async () => {
    const { service, owner } = await start();
    await owner.request('PUT', '/v1/buckets/food/groups/cooks');
    await owner.request('PUT', '/v1/buckets/food/groups/open', {
      body: { permissions: { read: ['system.Authenticated'] } },
    });
    await owner.request('PUT', collection, { body: { permissions: { write: ['system.Authenticated'] } } });
    const guest = service.asUser('guest');
    const hooks = (group: string): object[] => [
      { ...fine, resource_name: 'record', recipients: [`/buckets/food/groups/${group}`] },
    ];
    const refused = await saveHooks(guest, [...hooks('open'), ...hooks('cooks')]);
    expect([refused.status, refused.body]).toMatchObject([
      400,
      { details: [{ name: 'data.kinto-emailer.hooks.1.recipients' }] },
    ]);
    expect((await saveHooks(guest, hooks('gone'))).status).toBe(400);
    expect((await saveHooks(guest, hooks('open'))).status).toBe(200);
    // A group named earlier by another user stays valid.
    await saveHooks(owner, hooks('cooks'));
    const changed = await guest.request('PATCH', collection, { body: { data: { title: 'Fruits' } } });
    expect(changed.status).toBe(200);
  });

  it('a changed hook requires read permission on its groups, also on those that it named before.', async () => {
    const { service, owner } = await start();
    await owner.request('PUT', '/v1/buckets/food/groups/cooks');
    await owner.request('PUT', collection, { body: { permissions: { write: ['system.Authenticated'] } } });
    const guest = service.asUser('guest');
    const secret = { ...fine, resource_name: 'record', recipients: [team, '/buckets/food/groups/cooks'] };
    expect((await saveHooks(owner, [secret])).status).toBe(200);
    const changes: readonly object[] = [
      { recipients: ['bob@evil.example', '/buckets/food/groups/cooks'] },
      { recipients: [...secret.recipients, 'bob@evil.example'] },
      { recipients: ['/buckets/food/groups/cooks'] },
      { template: 'y' },
      { sender: 'bob@evil.example' },
      { action: 'create' },
      { resource_name: 'collection' },
      { unknown: 1 },
    ];
    for (const change of changes) {
      const refused = await saveHooks(guest, [fine, { ...secret, ...change }]);
      expect([change, refused.status, refused.body]).toMatchObject([
        change,
        400,
        { details: [{ name: 'data.kinto-emailer.hooks.1.recipients' }] },
      ]);
    }
    // An equal hook stays valid with another index, and with its members in another order.
    const reordered = Object.fromEntries(Object.entries(secret).toReversed());
    expect((await saveHooks(guest, [{ ...fine, template: 'y' }, reordered])).status).toBe(200);
    expect((await saveHooks(guest, [])).status).toBe(200);
    expect((await saveHooks(guest, [secret])).status).toBe(400);
  });

  it('the regular expressions of an object are limited together.', async () => {
    const { owner } = await start();
    const hooks = (prefix: string): object[] =>
      Array.from({ length: 20 }, (_, n) => ({ ...fine, resource_name: 'record', id: `^${prefix}${n}a{900}` }));
    const refused = await saveHooks(
      owner,
      hooks('x').map((hook, n) => ({ ...hook, record_id: `^y${n}a{900}` })),
    );
    expect([refused.status, refused.body]).toMatchObject([
      400,
      { details: expect.arrayContaining([expect.objectContaining({ name: 'data.kinto-emailer.hooks.19.id' })]) },
    ]);
    expect((await saveHooks(owner, hooks('x'))).status).toBe(201);
    // Equal expressions count once.
    const equal = Array.from({ length: 20 }, () => ({ ...hooks('z')[0], record_id: '^a{1000}' }));
    expect((await saveHooks(owner, equal)).status).toBe(200);
  });

  it('the regular expressions of all objects in a batch are limited together.', async () => {
    const { owner } = await start();
    const save = async (pattern: (collection: number, hook: number) => string): Promise<number> => {
      const requests = Array.from({ length: 10 }, (_, n) => {
        const hooks = Array.from({ length: 15 }, (_hook, h) => ({ ...fine, action: 'delete', id: pattern(n, h) }));
        const path = `/buckets/food/collections/c${n}`;
        return { method: 'PUT', path, body: { data: { 'kinto-emailer': { hooks } } } };
      });
      return (await owner.request('POST', '/v1/batch', { body: { requests } })).status;
    };
    expect(await save((n, h) => `^x${n}-${h}a{900}`)).toBe(400);
    expect((await owner.request('GET', '/v1/buckets/food/collections/c0')).status).toBe(404);
    // Expressions that several objects have count once.
    expect(await save((_, h) => `^x${h}a{900}`)).toBe(200);
  });
});
