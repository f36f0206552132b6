// Lists the contents of an import without touching the target: buckets with counts, and missing parts.
import type { Settings } from '../../settings/settings.ts';
import { compareIdentity } from './identity.ts';
import type { ImportOptions } from './import.ts';
import { bucketList, collectionList, groupList, recordList, type SourceList } from './lists.ts';
import { Source } from './source.ts';
import { ImportRefused } from './transport.ts';

/** Returns the survey as lines of text. */
export async function survey(settings: Settings, { from, buckets, onRoot }: ImportOptions): Promise<readonly string[]> {
  const source = new Source(from);
  try {
    const root = await source.readRoot();
    onRoot?.(root, compareIdentity(root, from.headers['authorization'], settings));
    const lines: string[] = [];
    let hidden = 0;
    const found = (await idsOf(source, bucketList)).filter((id) => buckets?.includes(id) ?? true);
    const shown = await source.objects(bucketList, found);
    for (const [index, bucket] of found.entries()) {
      const collections = await idsOf(source, collectionList(bucket));
      let records = 0;
      for (const id of collections) records += (await source.state(recordList(bucket, id)))?.total ?? 0;
      const groups = (await source.state(groupList(bucket)))?.total ?? 0;
      const object = shown[index];
      const isHidden = object?.is !== 'there' || object.permissions === undefined;
      if (isHidden) hidden++;
      lines.push(
        `${bucketList.uriOf(bucket)}: ${collections.length} collections, ${records} records, ${groups} groups` +
          (isHidden ? ' (its permissions are not shown to this user)' : ''),
      );
    }
    lines.push(`${found.length} buckets${hidden === 0 ? '' : `, ${hidden} of them without permissions`}`);
    if (root.capabilities.has('accounts')) {
      const accounts = await source.listAll('accounts');
      lines.push(accounts === 'hidden' ? 'accounts: not shown to this user' : `accounts: ${accounts.length}`);
    }
    if (!root.isReadonly)
      lines.push('The source accepts writes: changes during the import need another run with --resume.');
    return lines;
  } finally {
    source.close();
  }
}

async function idsOf(source: Source, { path, name }: SourceList): Promise<readonly string[]> {
  const objects = await source.listAll(path);
  if (objects === 'hidden') throw new ImportRefused(`${name}: the source does not show it to this user`);
  return objects.map(({ id }) => id);
}
