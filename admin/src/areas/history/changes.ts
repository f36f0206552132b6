// Restores a version, and undoes a change. Each asks first, names the version that it replaces, and changes nothing when
// another user was faster.
import { editableText, sentText, serverOwned } from '../../core/attributes.ts';
import { indentJson } from '../../core/json-text.ts';
import { findObject, readObject, type Permissions, type StoredObject } from '../../core/objects.ts';
import { loadPermits } from '../../core/permits.ts';
import { parseHash, type Kind } from '../../core/places.ts';
import type { App } from '../../ui/app-context.ts';
import { ask, askForWord } from '../../ui/dialog.tsx';
import { askToMerge } from '../../ui/merge-dialog.tsx';
import { askToRestore } from './restore-dialog.tsx';
import { permissionLines, type Entry, type Version, type WholeEntry } from './entries.ts';

/** Returns whether the user may change the object of an entry; where it was deleted, whether the user may create it again. */
export async function mayChange(app: App, { kind, path, uri }: Entry, signal: AbortSignal): Promise<boolean> {
  const place = parseHash(`#${uri}`)?.place;
  if (kind === undefined || place === undefined || app.service.isReadOnly) return false;
  const answer = await app.api.request('GET', path, { allowed: [403, 404], signal });
  if (answer.status === 403) return false;
  const isDeleted = answer.status === 404;
  const permits = await loadPermits(app, place, isDeleted ? undefined : readObject(answer), signal);
  return isDeleted ? permits.mayCreate(kind.name) : permits.mayChange;
}

/** Makes a version the current one. Returns the message; `undefined` when the user decided against it. */
export async function restoreVersion(app: App, entry: WholeEntry): Promise<string | undefined> {
  return restore(app, entry, entry.after);
}

/** Undoes a change and keeps later changes. Returns the message; `undefined` when the user decided against it. */
export async function undoChange(app: App, entry: WholeEntry, before: Version): Promise<string | undefined> {
  if (entry.action === 'create') return undoCreation(app, entry);
  if (entry.action === 'delete') return restore(app, entry, before);
  const { api } = app;
  const current = await findObject(api, entry.path);
  const kind = kindOf(entry);
  if (current === undefined) return restore(app, entry, before);
  const edit = (data: string): string => editableText(data, ownedOf(app, kind, data));
  const [base, mine, theirs] = [entry.after.data, before.data, current.data].map((data) => edit(data ?? '{}'));
  const permissions = undonePermissions(kind, current, before, entry.after);
  let data = theirs ?? '{}';
  if (base !== mine) {
    const answer = await askToMerge({
      title: 'Undo this change',
      text: 'Later changes of other attributes stay.',
      base: base ?? '{}',
      mine: mine ?? '{}',
      theirs: theirs ?? '{}',
      labels: { base: 'After the change', mine: 'Before the change', theirs: 'Now' },
      actions: { stay: 'Cancel', merge: 'Undo the change' },
    });
    if (answer?.choice !== 'merged') return undefined;
    data = answer.text;
  } else {
    const question = {
      title: 'Undo the change of permissions?',
      text: 'Principals that were added lose the permission, and those that were removed get it back.',
      yes: 'Undo the change',
      no: 'Cancel',
    };
    if (permissions === undefined) throw new Error('Nothing that you may see was changed, so nothing can be undone.');
    if (!(await ask(question))) return undefined;
  }
  await put(app, entry, { data, permissions, current });
  return 'The change is undone.';
}

async function undoCreation({ api }: App, entry: WholeEntry): Promise<string | undefined> {
  const current = await findObject(api, entry.path);
  if (current === undefined) throw new Error('This object was deleted already.');
  const kind = kindOf(entry);
  const id = decodeURIComponent(entry.path.split('/').at(-1) ?? '');
  const title = `Delete the ${kind.name} ${id}?`;
  const isSure =
    kind.children.length === 0
      ? await ask({
          title,
          text: 'This undoes its creation. The history keeps its versions.',
          yes: 'Delete',
          no: 'Keep it',
        })
      : await askForWord({
          title,
          text: 'This undoes its creation, and deletes everything in it. The contents cannot be restored.',
          yes: 'Delete everything',
          word: id,
        });
  if (!isSure) return undefined;
  await api.request('DELETE', entry.path, { headers: { 'If-Match': current.etag } });
  return `The ${kind.name} ${id} is deleted.`;
}

async function restore(app: App, entry: WholeEntry, version: Version): Promise<string | undefined> {
  const kind = kindOf(entry);
  const current = await findObject(app.api, entry.path);
  const edit = (data: string): string => indentJson(editableText(data, ownedOf(app, kind, data)));
  const data = edit(version.data ?? '{}');
  const before = current === undefined ? '' : edit(current.data);
  // Only writers see permissions.
  const isSeen = current === undefined || current.permissions.size > 0;
  const now = permissionLines(current?.permissions ?? new Map());
  const then = permissionLines(version.permissions);
  const isPermitted = isSeen && version.permissions.size > 0 && now !== then;
  if (current !== undefined && before === data && !isPermitted)
    throw new Error('The object equals this version already.');
  const choice = await askToRestore({
    isDeleted: current === undefined,
    contents: current === undefined ? kind.children.map((name) => `${name}s`).join(' and ') : '',
    data: { now: before, then: data },
    permissions: isPermitted ? { now, then } : undefined,
  });
  if (choice === undefined) return undefined;
  const permissions = choice === 'all' ? wholePermissions(kind, current, version.permissions) : undefined;
  await put(app, entry, { data, permissions, current });
  return 'The version is restored.';
}

interface Writing {
  /** Attributes as JSON text. */
  readonly data: string;
  readonly permissions: Permissions | undefined;
  /** The version to replace; `undefined` creates the object. */
  readonly current: StoredObject | undefined;
}

async function put(app: App, entry: WholeEntry, { data, permissions, current }: Writing): Promise<void> {
  const stored = current?.data ?? '{}';
  const attributes = sentText(data, stored, ownedOf(app, kindOf(entry), stored));
  const named = permissions === undefined ? '' : `,"permissions":${JSON.stringify(Object.fromEntries(permissions))}`;
  const condition = current === undefined ? { 'If-None-Match': '*' } : { 'If-Match': current.etag };
  await app.api.request('PUT', entry.path, { body: `{"data":${attributes}${named}}`, headers: condition });
}

function ownedOf({ service }: App, kind: Kind, data: string): readonly string[] {
  return serverOwned(kind.name, data, service.capabilities);
}

function kindOf({ kind }: Entry): Kind {
  if (kind === undefined) throw new Error('The console cannot change objects of this kind.');
  return kind;
}

/** Returns permissions that replace all of the current ones. */
function wholePermissions(kind: Kind, current: StoredObject | undefined, wanted: Permissions): Permissions {
  const names = new Set([...kind.permissions, ...(current?.permissions.keys() ?? []), ...wanted.keys()]);
  return new Map([...names].map((name) => [name, wanted.get(name) ?? []]));
}

/** Returns the current permissions without what a change added, and with what it removed; `undefined` for no difference. */
function undonePermissions(
  kind: Kind,
  current: StoredObject,
  before: Version,
  after: Version,
): Permissions | undefined {
  if (current.permissions.size === 0 || permissionLines(before.permissions) === permissionLines(after.permissions)) {
    return undefined;
  }
  const names = new Set([...kind.permissions, ...current.permissions.keys(), ...before.permissions.keys()]);
  return new Map(
    [...names].map((name) => {
      const [had, got] = [before.permissions.get(name) ?? [], after.permissions.get(name) ?? []];
      const kept = (current.permissions.get(name) ?? []).filter((each) => had.includes(each) || !got.includes(each));
      return [name, [...new Set([...kept, ...had.filter((each) => !got.includes(each))])]];
    }),
  );
}
