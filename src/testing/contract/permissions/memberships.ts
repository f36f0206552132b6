// Cases about memberships: the principals of users.
import assert from 'node:assert/strict';
import type { PermissionCase } from '../contract-case.ts';
import { permissionCase } from './permission-probe.ts';

/** Adding principals to users and removing them. */
export const membershipCases: readonly PermissionCase[] = [
  permissionCase('an unknown user has no principals', async ({ principals }) => {
    assert.deepEqual(await principals('acme:zoe'), []);
  }),
  // Proves S-071.
  permissionCase('a user has the added principals', async ({ write, principals }) => {
    await write((writer) => writer.addUserPrincipal('acme:zoe', '/buckets/a/groups/g'));
    await write((writer) => writer.addUserPrincipal('acme:zoe', '/buckets/a/groups/h'));
    assert.deepEqual(await principals('acme:zoe'), ['/buckets/a/groups/g', '/buckets/a/groups/h']);
    assert.deepEqual(await principals('acme:tom'), []);
  }),
  // Proves S-071.
  permissionCase('adding a principal twice adds it once', async ({ write, principals }) => {
    await write(async (writer) => {
      await writer.addUserPrincipal('acme:zoe', 'g');
      await writer.addUserPrincipal('acme:zoe', 'g');
    });
    await write((writer) => writer.addUserPrincipal('acme:zoe', 'g'));
    assert.deepEqual(await principals('acme:zoe'), ['g']);
    await write((writer) => writer.removeUserPrincipal('acme:zoe', 'g'));
    assert.deepEqual(await principals('acme:zoe'), []);
  }),
  // Proves S-072.
  permissionCase('removing a principal leaves the others', async ({ write, principals }) => {
    await write(async (writer) => {
      for (const principal of ['f', 'g', 'h']) await writer.addUserPrincipal('acme:zoe', principal);
      await writer.addUserPrincipal('acme:tom', 'g');
      await writer.removeUserPrincipal('acme:zoe', 'g');
    });
    assert.deepEqual([await principals('acme:zoe'), await principals('acme:tom')], [['f', 'h'], ['g']]);
  }),
  // Proves S-072.
  permissionCase('removing an absent principal is no error', async ({ write, principals }) => {
    await write((writer) => writer.removeUserPrincipal('acme:zoe', 'g'));
    await write((writer) => writer.addUserPrincipal('acme:zoe', 'h'));
    await write((writer) => writer.removeUserPrincipal('acme:zoe', 'g'));
    assert.deepEqual(await principals('acme:zoe'), ['h']);
  }),
  // Proves S-074.
  permissionCase('every user has the principals of system.Authenticated', async ({ write, principals }) => {
    await write(async (writer) => {
      await writer.addUserPrincipal('system.Authenticated', 'all');
      await writer.addUserPrincipal('acme:zoe', 'g');
      await writer.addUserPrincipal('acme:tom', 'all');
    });
    assert.deepEqual(await principals('acme:zoe'), ['all', 'g']);
    assert.deepEqual(await principals('acme:tom'), ['all']);
    assert.deepEqual(await principals('acme:new'), ['all']);
    assert.deepEqual(await principals('system.Authenticated'), ['all']);
  }),
  // Proves S-073.
  permissionCase('a principal is removed from every user', async ({ write, principals }) => {
    await write(async (writer) => {
      for (const userId of ['acme:zoe', 'acme:tom', 'system.Authenticated']) await writer.addUserPrincipal(userId, 'g');
      await writer.addUserPrincipal('acme:zoe', 'g2');
      await writer.removePrincipal('g');
      await writer.removePrincipal('unknown');
    });
    assert.deepEqual([await principals('acme:zoe'), await principals('acme:tom')], [['g2'], []]);
  }),
  permissionCase('the principals below a prefix are removed from every user', async ({ write, principals }) => {
    const near = ['/buckets/axb/groups/g', '/buckets/a_b2/groups/g', '/buckets/a_b/group', '/BUCKETS/a_b/groups/g'];
    const below = ['/buckets/a_b/groups/g', '/buckets/a_b/groups/h', '/buckets/a_b/groups/'];
    await write(async (writer) => {
      for (const principal of [...near, ...below]) await writer.addUserPrincipal('acme:zoe', principal);
      await writer.addUserPrincipal('acme:tom', below[0]!);
      await writer.removePrincipalsBelow('/buckets/a_b/groups/');
    });
    assert.deepEqual(await principals('acme:zoe'), near.toSorted());
    assert.deepEqual(await principals('acme:tom'), []);
  }),
  ...['/buckets/%/groups/', '/buckets/_/groups/', '*', '.*', '/buckets/a/groups/g%'].map((prefix) =>
    permissionCase(`the prefix "${prefix}" of principals is taken literally`, async ({ write, principals }) => {
      await write((writer) => writer.addUserPrincipal('acme:zoe', '/buckets/a/groups/g'));
      await write((writer) => writer.removePrincipalsBelow(prefix));
      assert.deepEqual(await principals('acme:zoe'), ['/buckets/a/groups/g']);
    }),
  ),
  permissionCase('removing a principal from users leaves entries alone', async ({ write, entries }) => {
    await write(async (writer) => {
      await writer.addPrincipalToAce('/buckets/a', 'read', '/buckets/a/groups/g');
      await writer.addUserPrincipal('acme:zoe', '/buckets/a/groups/g');
      await writer.removePrincipal('/buckets/a/groups/g');
      await writer.removePrincipalsBelow('/buckets/a/groups/');
    });
    assert.deepEqual(await entries('/buckets/a'), { read: ['/buckets/a/groups/g'] });
  }),
  permissionCase('user ids and principals are compared byte for byte', async ({ write, principals }) => {
    const odd = ['__proto__', 'constructor', 'Zoe', 'zoe', 'z_e', 'z%', 'žoé', 'a:b@c', `'"`];
    await write(async (writer) => {
      for (const id of odd) await writer.addUserPrincipal(id, `of ${id}`);
      for (const id of odd) await writer.addUserPrincipal('all', id);
      await writer.removePrincipal('z_e');
    });
    for (const id of odd) assert.deepEqual(await principals(id), [`of ${id}`]);
    assert.deepEqual(await principals('all'), odd.filter((id) => id !== 'z_e').toSorted());
  }),
];
