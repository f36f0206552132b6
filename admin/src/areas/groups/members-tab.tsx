// The members of a group: add with the picker, remove, save with conflict detection. Other attributes stay as they are.
import type { JSX } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { formatCount } from '../../core/format.ts';
import { displayText, elementsOf, memberText } from '../../core/json-text.ts';
import { findObject, type StoredObject } from '../../core/objects.ts';
import { pathOf } from '../../core/places.ts';
import { maxChecked, principalCheck } from '../../core/principals.ts';
import { useApp } from '../../ui/app-context.ts';
import { resolveConflict } from '../../ui/conflict.tsx';
import { DraftNote } from '../../ui/draft-note.tsx';
import { useAttempt, useLoad, useWork } from '../../ui/hooks.ts';
import { Icon } from '../../ui/icons.tsx';
import { Empty, FailureNote, Field, NoPermission, Principal } from '../../ui/parts.tsx';
import { PrincipalPicker } from '../../ui/principal-picker.tsx';
import { say } from '../../ui/toast.tsx';
import type { TabProps } from '../area.ts';
import './members.css';

/** Maximum number of members that are shown at the same time. */
const shownLimit = 200;

export function MembersTab(props: TabProps): JSX.Element | null {
  const { object, permits } = props;
  if (object === undefined) return null;
  return permits.mayChange ? <Editor {...props} object={object} /> : <Shown object={object} />;
}

/** The members for users who may not change them. */
function Shown({ object }: { readonly object: StoredObject }): JSX.Element {
  const { api, service } = useApp();
  const check = useMemo(() => principalCheck(api, service), [api, service]);
  return (
    <div class="members">
      <p>
        <NoPermission to="change this group" />
      </p>
      <MemberList members={membersIn(textOf(object))} check={check} />
    </div>
  );
}

function Editor({ place, object, reload }: TabProps & { readonly object: StoredObject }): JSX.Element {
  const { api, service } = useApp();
  const path = pathOf(place);
  const original = textOf(object);
  const [text, setText] = useState(original);
  useEffect(() => setText(original), [object.etag]);
  const work = useWork(`${service.userId ?? ''}.members.${path}`, { text, original, etag: object.etag });
  const { error, isBusy, attempt } = useAttempt();
  const check = useMemo(() => principalCheck(api, service), [api, service]);
  const members = membersIn(text);
  const finish = (message: string): void => {
    work.finish();
    reload();
    say(message);
  };
  const send = async (etag: string): Promise<void> => {
    const body = `{"data":{"members":${JSON.stringify(members)}}}`;
    const answer = await api.request('PATCH', path, { body, headers: { 'If-Match': etag }, allowed: [412] });
    if (answer.status !== 412) {
      finish('Members saved.');
      return;
    }
    const theirs = await findObject(api, path);
    if (theirs === undefined) throw new Error('This group was deleted in the meantime.');
    const choice = await resolveConflict(members.join('\n'), membersIn(textOf(theirs)).join('\n'));
    if (choice === 'theirs') finish('Nothing was saved.');
    if (choice === 'mine') await send(theirs.etag);
  };
  return (
    <form
      class="members"
      onSubmit={(event) => {
        event.preventDefault();
        void attempt(() => send(object.etag));
      }}
    >
      <p class="hint">
        Members have every permission that names this group. A change applies from the next request on.
      </p>
      <DraftNote work={work} etag={object.etag} onRestore={setText} />
      <PrincipalPicker
        label="Add a member"
        place={place}
        among="members"
        check={check}
        onPick={(member) => setText(JSON.stringify([...new Set([...members, member])]))}
      />
      <MemberList
        members={members}
        check={check}
        onRemove={(member) => setText(JSON.stringify(members.filter((each) => each !== member)))}
      />
      <div class="save-bar">
        <FailureNote error={error} />
        <div class="actions">
          <button type="submit" class="primary" data-key="save" disabled={isBusy || text === original}>
            Save members
          </button>
          <button type="button" disabled={text === original} onClick={() => setText(original)}>
            Undo changes
          </button>
          {text === original ? null : <span class="quiet">Not saved</span>}
        </div>
      </div>
    </form>
  );
}

interface MemberListProps {
  readonly members: readonly string[];
  readonly check: (principal: string) => Promise<string | undefined>;
  /** Absent where members cannot be removed. */
  readonly onRemove?: (member: string) => void;
}

function MemberList({ members, check, onRemove }: MemberListProps): JSX.Element {
  const [filter, setFilter] = useState('');
  const found = members.filter((member) => member.includes(filter.trim()));
  const shown = found.slice(0, shownLimit);
  const checked = members.slice(0, maxChecked);
  const { value: faults } = useLoad(() => Promise.all(checked.map(check)), checked.join('\n'));
  if (members.length === 0) return <Empty>This group has no members.</Empty>;
  return (
    <>
      {members.length > 10 ? (
        <Field label="Find a member">
          {(attributes) => (
            <input
              {...attributes}
              type="search"
              autocomplete="off"
              spellcheck={false}
              value={filter}
              onInput={(event) => setFilter(event.currentTarget.value)}
            />
          )}
        </Field>
      ) : null}
      <ul class="member-list" aria-label="Members">
        {shown.map((member) => {
          const fault = faults?.[checked.indexOf(member)];
          return (
            <li key={member}>
              <span>
                <Principal id={member} />
                {/^(?:basicauth|system)[:.]/.test(member) ? <code> {member}</code> : null}
                {fault === undefined ? null : <small class="fault"> This principal {fault}.</small>}
              </span>
              {onRemove === undefined ? null : (
                <button type="button" class="plain" aria-label={`Remove ${member}`} onClick={() => onRemove(member)}>
                  <Icon name="close" />
                </button>
              )}
            </li>
          );
        })}
      </ul>
      <p class="quiet">
        {formatCount(members.length)} {members.length === 1 ? 'member' : 'members'}
        {found.length > shown.length ? `, the first ${formatCount(shown.length)} are shown` : ''}
      </p>
    </>
  );
}

/** Returns the members of a stored group as JSON text. */
function textOf({ data }: StoredObject): string {
  const members = memberText(data, 'members');
  return JSON.stringify(members?.startsWith('[') === true ? elementsOf(members).map(displayText) : []);
}

/** Returns the members of a text; none for the text of a damaged draft. */
function membersIn(text: string): readonly string[] {
  try {
    const members: unknown = JSON.parse(text);
    return Array.isArray(members) ? members.map(String) : [];
  } catch {
    // Other code wrote an invalid draft.
    return [];
  }
}
