// Copies permission entries and memberships.
import type { ObjectPermissions, PermissionBackend } from '../../contracts/permission.ts';
import type { Principal } from '../../core/permissions/principals.ts';
import type { PartOptions } from './copy-lists.ts';
import { digestMemberships, formatPermissions } from './digest.ts';
import { Growth, inUnit } from '../../maintenance/units.ts';
import { walkMemberships, walkPermissions } from '../../maintenance/walk.ts';

/** Makes the permissions of the target equal to those of the source. */
export async function copyPermissions(
  source: PermissionBackend,
  target: PermissionBackend,
  options: PartOptions,
): Promise<void> {
  if (options.resumes) await removeOthers(source, target);
  await copyEntries(source, target, options);
  await copyMemberships(source, target, options);
}

async function copyEntries(
  source: PermissionBackend,
  target: PermissionBackend,
  { resumes, onProgress }: PartOptions,
): Promise<void> {
  const growth = new Growth(target.database);
  for await (const page of walkPermissions(source.reader)) {
    if (!resumes) {
      await inUnit(target.database, (transaction, attempt) =>
        target.writer(transaction).addToAces(page, { isFresh: attempt === 1 }),
      );
      await growth.add(page.length);
      onProgress(page.length);
      continue;
    }
    const ids = page.map(({ objectId }) => objectId);
    const there = await target.reader.getObjectsPermissions(ids);
    const changes = page.flatMap(({ objectId, permissions }, index) => {
      const known = there[index] ?? {};
      if (formatPermissions(known) === formatPermissions(permissions)) return [];
      return [{ objectId, permissions: replacing(known, permissions) }];
    });
    if (changes.length > 0) {
      await inUnit(target.database, async (transaction) => {
        const writer = target.writer(transaction);
        for (const { objectId, permissions } of changes) await writer.replaceObjectPermissions(objectId, permissions);
      });
      await growth.add(changes.length);
    }
    onProgress(page.length);
  }
  await growth.finish();
}

/** Returns the entries to write, with empty lists for those to remove. */
export function replacing(known: ObjectPermissions, wanted: ObjectPermissions): ObjectPermissions {
  const emptied = Object.keys(known).map((name) => [name, []] as const);
  return Object.fromEntries<readonly Principal[]>([...emptied, ...Object.entries(wanted)]);
}

/** Removes the entries of objects that have none in the source. */
async function removeOthers(source: PermissionBackend, target: PermissionBackend): Promise<void> {
  for await (const page of walkPermissions(target.reader)) {
    const ids = page.map(({ objectId }) => objectId);
    const wanted = await source.reader.getObjectsPermissions(ids);
    const others = ids.filter((_, index) => Object.keys(wanted[index]!).length === 0);
    if (others.length === 0) continue;
    await inUnit(target.database, (transaction) => target.writer(transaction).deleteObjectPermissions(others));
  }
}

/** Copies all memberships unless they are equal: they are few, compared with objects. */
async function copyMemberships(
  source: PermissionBackend,
  target: PermissionBackend,
  { resumes, onProgress }: PartOptions,
): Promise<void> {
  if (resumes) {
    const [ours, theirs] = await Promise.all([digestMemberships(source.reader), digestMemberships(target.reader)]);
    if (ours.digest === theirs.digest) return onProgress(ours.count);
    await inUnit(target.database, (transaction) => target.writer(transaction).removePrincipalsBelow(''));
  }
  const growth = new Growth(target.database);
  for await (const page of walkMemberships(source.reader)) {
    await inUnit(target.database, async (transaction) => {
      const writer = target.writer(transaction);
      for (const { userId, principals } of page) {
        for (const principal of principals) await writer.addUserPrincipal(userId, principal);
      }
    });
    await growth.add(page.length);
    onProgress(page.length);
  }
  await growth.finish();
}
