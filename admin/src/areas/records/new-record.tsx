// The form for a new record: empty, or with the attributes of a record to duplicate.
import type { JSX } from 'preact';
import { editableText, serverOwned } from '../../core/attributes.ts';
import { memberText } from '../../core/json-text.ts';
import { loadObject } from '../../core/objects.ts';
import { below, hashOf, kinds, pathOf } from '../../core/places.ts';
import { useApp } from '../../ui/app-context.ts';
import { CreateForm } from '../../ui/forms/create-form.tsx';
import { useLoad } from '../../ui/hooks.ts';
import { Empty, FailureNote, Loading, NoPermission } from '../../ui/parts.tsx';
import type { TabProps } from '../area.ts';

export function NewRecord({ place, object, query, permits }: TabProps): JSX.Element {
  const { api, service } = useApp();
  const source = query.get('_copy') ?? '';
  const { value, error, reload } = useLoad(async (signal) => {
    if (source === '') return { initial: undefined };
    const { data } = await loadObject(api, pathOf(below(place, kinds.record, source)), signal);
    return { initial: editableText(data, serverOwned('record', data, service.capabilities)) };
  }, source);
  if (!permits.mayCreate('record')) {
    return (
      <Empty>
        <NoPermission to="create records in this collection" />
      </Empty>
    );
  }
  if (error !== undefined) return <FailureNote error={error} onRetry={reload} />;
  if (value === undefined) return <Loading />;
  const hasSchema = object !== undefined && service.capabilities.has('schema');
  return (
    <>
      {source === '' ? null : (
        <p class="hint">
          A copy of <code>{source}</code>, without its id, permissions and file.
        </p>
      )}
      <CreateForm
        key={source}
        place={place}
        kind={kinds.record}
        schema={hasSchema ? memberText(object.data, 'schema') : undefined}
        initial={value.initial}
        backHref={hashOf(place)}
      />
    </>
  );
}
