// Cases about texts that a backend may mistake for others, in every argument of every method.
import assert from 'node:assert/strict';
import type { PermissionCase } from '../contract-case.ts';
import { lookalikes, oddTexts, requireNothing, requireRefusal } from '../hostile-text.ts';
import { permissionCase, type PermissionProbe } from './permission-probe.ts';
import type { PermissionReader, PermissionWriter } from '../plain-contracts.ts';

const object = '/buckets/plain';
const uriOf = (text: string): string => `/buckets/${text}`;

const kept: readonly PermissionCase[] = [
  permissionCase('memberships distinguish odd users and principals', async ({ write, principals }) => {
    await write(async (writer) => {
      for (const [n, text] of oddTexts.entries()) {
        await writer.addUserPrincipal(text, `group${n}`);
        await writer.addUserPrincipal(`user${n}`, text);
      }
    });
    for (const [n, text] of oddTexts.entries()) {
      assert.deepEqual(await principals(text), [`group${n}`], text);
      assert.deepEqual(await principals(`user${n}`), [text]);
    }
    for (const [n, text] of oddTexts.entries()) {
      await write((writer) => writer.removePrincipal(text));
      assert.deepEqual(await principals(`user${n}`), []);
      await write((writer) => writer.removeUserPrincipal(text, `group${n}`));
      const later = oddTexts[n + 1];
      if (later !== undefined) assert.deepEqual(await principals(later), [`group${n + 1}`], later);
    }
  }),
  permissionCase('entries distinguish odd principals', async ({ reader, write, entries }) => {
    await write(async (writer) => {
      for (const [n, text] of oddTexts.entries()) await writer.addPrincipalToAce(`/buckets/b${n}`, 'read', text);
    });
    for (const [n, text] of oddTexts.entries()) {
      const uri = `/buckets/b${n}`;
      assert.deepEqual([...(await reader.getAccessibleObjects([text])).keys()], [uri], text);
      const bound = oddTexts.map((_, index) => ({ objectId: `/buckets/b${index}`, permission: 'read' }));
      assert.equal(await reader.checkPermission([text], bound), true);
      assert.equal(
        await reader.checkPermission(
          [text],
          bound.filter(({ objectId }) => objectId !== uri),
        ),
        false,
      );
    }
    for (const [n, text] of oddTexts.entries()) {
      await write((writer) => writer.removePrincipalFromAces(text));
      assert.deepEqual(await entries(`/buckets/b${n}`), {});
      const later = oddTexts[n + 1];
      if (later !== undefined) assert.deepEqual(await entries(`/buckets/b${n + 1}`), { read: [later] });
    }
  }),
  permissionCase('entries distinguish odd objects and permissions', async ({ reader, write, entries }) => {
    await write(async (writer) => {
      for (const text of oddTexts) {
        await writer.addPrincipalToAce(uriOf(text), 'read', 'zoe');
        await writer.addPrincipalToAce(`${uriOf(text)}/groups/g`, 'read', 'zoe');
        await writer.addPrincipalToAce('/all', text, `who may ${text}`);
      }
    });
    const all = Object.fromEntries(oddTexts.map((text) => [text, [`who may ${text}`]] as const));
    assert.deepEqual(await entries('/all'), all);
    for (const text of oddTexts) {
      assert.deepEqual(await entries(uriOf(text)), { read: ['zoe'] });
      const found = await reader.getAuthorizedPrincipals([{ objectId: '/all', permission: text }]);
      assert.deepEqual([...found], [`who may ${text}`]);
      await write((writer) => writer.deletePermissionsBelow(uriOf(text)));
      assert.deepEqual(await entries(`${uriOf(text)}/groups/g`), {});
      assert.deepEqual(await entries(uriOf(text)), { read: ['zoe'] });
    }
    for (const [n, text] of oddTexts.entries()) {
      await write((writer) => writer.deleteObjectPermissions([uriOf(text)]));
      const left = await reader.getAccessibleObjects(['zoe']);
      assert.equal(left.size, oddTexts.length - n - 1, text);
    }
  }),
];

const reads: Readonly<Record<string, (reader: PermissionReader, text: string) => Promise<unknown>>> = {
  getUserPrincipals: (reader, text) => reader.getUserPrincipals(text),
  'getAuthorizedPrincipals of an object': (reader, text) =>
    reader.getAuthorizedPrincipals([{ objectId: text, permission: 'read' }]),
  'getAuthorizedPrincipals of a permission': (reader, text) =>
    reader.getAuthorizedPrincipals([{ objectId: object, permission: text }]),
  'checkPermission of a principal': (reader, text) =>
    reader.checkPermission([text], [{ objectId: object, permission: 'read' }]),
  'checkPermission of an object': (reader, text) =>
    reader.checkPermission(['plain'], [{ objectId: text, permission: 'read' }]),
  'checkPermission of a permission': (reader, text) =>
    reader.checkPermission(['plain'], [{ objectId: object, permission: text }]),
  'checkPermission of a member': (reader, text) =>
    reader.checkPermission([], [{ objectId: object, permission: 'read' }], text),
  'getAccessibleObjects of a principal': (reader, text) => reader.getAccessibleObjects([text]),
  'getAccessibleObjects of a pattern': (reader, text) =>
    reader.getAccessibleObjects(['plain'], { bound: [{ pattern: `/buckets/${text}`, permission: 'read' }] }),
  'getAccessibleObjects of a permission': (reader, text) =>
    reader.getAccessibleObjects(['plain'], { bound: [{ pattern: '/buckets/*', permission: text }] }),
  'getAccessibleObjects of a member': (reader, text) =>
    reader.getAccessibleObjects([], { bound: [{ pattern: '/buckets/*', permission: 'read' }], memberOf: text }),
  'getObjectPermissions of an object': (reader, text) => reader.getObjectPermissions(uriOf(text)),
  'getObjectsPermissions of an object': (reader, text) => reader.getObjectsPermissions([uriOf(text)]),
  'getObjectsPermissions of a permission': (reader, text) => reader.getObjectsPermissions([object], [text]),
};

/** Calls that store nothing of the text. */
const removals: Readonly<Record<string, (writer: PermissionWriter, text: string) => Promise<unknown>>> = {
  'removeUserPrincipal of a user': (writer, text) => writer.removeUserPrincipal(text, 'plain'),
  'removeUserPrincipal of a principal': (writer, text) => writer.removeUserPrincipal('plain', text),
  removePrincipal: (writer, text) => writer.removePrincipal(text),
  removePrincipalsBelow: (writer, text) => writer.removePrincipalsBelow(`${text}nowhere`),
  'removePrincipalFromAce of an object': (writer, text) => writer.removePrincipalFromAce(uriOf(text), 'read', 'plain'),
  'removePrincipalFromAce of a permission': (writer, text) => writer.removePrincipalFromAce(object, text, 'plain'),
  'removePrincipalFromAce of a principal': (writer, text) => writer.removePrincipalFromAce(object, 'read', text),
  removePrincipalFromAces: (writer, text) => writer.removePrincipalFromAces(text),
  deleteObjectPermissions: (writer, text) => writer.deleteObjectPermissions([uriOf(text)]),
  deletePermissionsBelow: (writer, text) => writer.deletePermissionsBelow(uriOf(text)),
  'replaceObjectPermissions of an object by nothing': (writer, text) =>
    writer.replaceObjectPermissions(uriOf(text), { read: [] }),
};

const writes: Readonly<Record<string, (writer: PermissionWriter, text: string) => Promise<unknown>>> = {
  'addUserPrincipal of a user': (writer, text) => writer.addUserPrincipal(text, 'group'),
  'addUserPrincipal of a principal': (writer, text) => writer.addUserPrincipal('user', text),
  'addPrincipalToAce of an object': (writer, text) => writer.addPrincipalToAce(uriOf(text), 'read', 'zoe'),
  'addPrincipalToAce of a permission': (writer, text) => writer.addPrincipalToAce(object, text, 'zoe'),
  'addPrincipalToAce of a principal': (writer, text) => writer.addPrincipalToAce(object, 'read', text),
  'addToAces of an object': (writer, text) =>
    writer.addToAces([{ objectId: uriOf(text), permissions: { read: ['zoe'] } }]),
  'addToAces of a fresh object': (writer, text) =>
    writer.addToAces([{ objectId: uriOf(text), permissions: { read: ['zoe'] } }], { isFresh: true }),
  'addToAces of a permission': (writer, text) =>
    writer.addToAces([{ objectId: object, permissions: Object.fromEntries([[text, ['zoe']]]) }]),
  'addToAces of a principal': (writer, text) => writer.addToAces([{ objectId: object, permissions: { read: [text] } }]),
  'replaceObjectPermissions of an object': (writer, text) =>
    writer.replaceObjectPermissions(uriOf(text), { read: ['zoe'] }),
  'replaceObjectPermissions of a permission': (writer, text) =>
    writer.replaceObjectPermissions(object, Object.fromEntries([[text, ['zoe']]])),
  'replaceObjectPermissions of a principal': (writer, text) =>
    writer.replaceObjectPermissions(object, { read: [text] }),
};

async function seed({ reader, write }: PermissionProbe): Promise<() => Promise<unknown>> {
  await write(async (writer) => {
    for (const text of lookalikes) {
      if (text === '') continue;
      await writer.addUserPrincipal(text, 'plain');
      await writer.addUserPrincipal('plain', text);
      for (const principal of ['plain', text]) {
        await writer.addPrincipalToAce(uriOf(text), 'read', principal);
        await writer.addPrincipalToAce(`${uriOf(text)}/groups/g`, 'read', principal);
      }
      await writer.addPrincipalToAce(object, text, 'plain');
    }
  });
  const sorted = (texts: Iterable<string>): readonly string[] => [...texts].toSorted();
  return async () => {
    const entries = await reader.entries(undefined, 100);
    const memberships = await reader.memberships(undefined, 100);
    return [
      entries.found.flatMap(({ objectId, permissions }) =>
        Object.entries(permissions).map(([name, all]) => JSON.stringify([objectId, name, sorted(all)])),
      ),
      memberships.found.map(({ userId, principals }) => JSON.stringify([userId, sorted(principals)])),
    ].map(sorted);
  };
}

function unstorableCase(name: string, body: (probe: PermissionProbe) => Promise<void>): PermissionCase {
  return permissionCase(name, async (probe) => {
    const everything = await seed(probe);
    const before = await everything();
    await body(probe);
    assert.deepEqual(await everything(), before);
  });
}

/** Returns the result of work in a unit, which the probe's own `write` does not return. */
async function answerOf(
  { write }: PermissionProbe,
  work: (writer: PermissionWriter) => Promise<unknown>,
): Promise<unknown> {
  let answer: unknown;
  await write(async (writer) => {
    answer = await work(writer);
  });
  return answer;
}

const refused: readonly PermissionCase[] = [
  ...Object.entries(reads).flatMap(([name, call]) => [
    unstorableCase(`${name} mistakes a text that cannot be stored for no other`, (probe) =>
      requireNothing((text) => call(probe.reader, text)),
    ),
    unstorableCase(`${name} inside a unit of work mistakes a text that cannot be stored for no other`, (probe) =>
      requireNothing((text) => answerOf(probe, (writer) => call(writer, text))),
    ),
  ]),
  ...Object.entries(removals).map(([name, call]) =>
    unstorableCase(`${name} mistakes a text that cannot be stored for no other`, (probe) =>
      requireNothing((text) => answerOf(probe, (writer) => call(writer, text))),
    ),
  ),
  ...Object.entries(writes).map(([name, call]) =>
    unstorableCase(`${name} refuses a text that cannot be stored`, (probe) =>
      requireRefusal((text) => answerOf(probe, (writer) => call(writer, text))),
    ),
  ),
];

export const hostileTextCases: readonly PermissionCase[] = [...kept, ...refused];
