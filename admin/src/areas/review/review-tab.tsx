// The review of a signed collection: its status, what can be done, who may do it, and what would be published.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { displayText, memberText } from '../../core/json-text.ts';
import type { StoredObject } from '../../core/objects.ts';
import { hashOf, kinds, pathOf, type Place } from '../../core/places.ts';
import { authenticated, groupOf, membersOfGroup } from '../../core/principals.ts';
import { useApp } from '../../ui/app-context.ts';
import { ask } from '../../ui/dialog.tsx';
import { DraftNote } from '../../ui/draft-note.tsx';
import { useAttempt, useLoad, useWork } from '../../ui/hooks.ts';
import { Button, FailureNote, Field, NoPermission, Principal, Scroll } from '../../ui/parts.tsx';
import { say } from '../../ui/toast.tsx';
import type { TabProps } from '../area.ts';
import { actionsOf, possibleActions, refusalOf, type ReviewAction, type ReviewState } from './actions.ts';
import { Changes } from './changes.tsx';
import './review.css';
import { routeOf, type ReviewRoute } from './routes.ts';

interface Members {
  readonly editors: readonly string[] | undefined;
  readonly reviewers: readonly string[] | undefined;
}

export function ReviewTab(props: TabProps): JSX.Element | null {
  const { service } = useApp();
  const route = routeOf(service, props.place);
  if (route === undefined || props.object === undefined) return null;
  return <Review {...props} object={props.object} route={route} />;
}

interface ReviewProps extends TabProps {
  readonly object: StoredObject;
  readonly route: ReviewRoute;
}

function Review({ place, object, route, permits, reload }: ReviewProps): JSX.Element {
  const { api, service } = useApp();
  const read = (key: string): string | undefined => {
    const text = memberText(object.data, key);
    return text === undefined ? undefined : displayText(text);
  };
  const { value: members } = useLoad(
    async (): Promise<Members> => ({
      editors: await membersOfGroup(api, route.editors),
      reviewers: await membersOfGroup(api, route.reviewers),
    }),
    `${route.editors} ${route.reviewers} ${object.etag}`,
  );
  const isMember = (group: readonly string[] | undefined): boolean | undefined => {
    if (service.userId === undefined) return false;
    const { userId } = service;
    return group?.some((member) => member === userId || member === authenticated);
  };
  const state: ReviewState = {
    status: read('status'),
    isReviewed: route.isReviewed,
    isEditor: service.principals.includes(route.editors) ? true : isMember(members?.editors),
    isReviewer: service.principals.includes(route.reviewers) ? true : isMember(members?.reviewers),
    isRequester: service.userId !== undefined && read('last_review_request_by') === service.userId,
  };
  return (
    <div class="review">
      <p>
        <span class={`badge status-${state.status ?? 'none'}`}>{state.status ?? 'no status'}</span>{' '}
        {route.preview === undefined ? null : (
          <>
            Preview: <PlaceLink place={route.preview} />.{' '}
          </>
        )}
        Destination: <PlaceLink place={route.destination} />.
      </p>
      <Trail read={read} />
      {service.isReadOnly ? null : (
        <section class="panel" aria-label="Next steps">
          <h2>Next steps</h2>
          {permits.mayChange ? (
            <Steps place={place} object={object} state={state} reload={reload} />
          ) : (
            <NoPermission to="change the status of this collection" />
          )}
        </section>
      )}
      <Changes source={place} destination={route.destination} version={object.etag} />
      <Rights
        route={route}
        members={members}
        state={state}
        mayWrite={object.permissions.size > 0 ? 'yes' : permits.mayChange ? 'with write permission' : 'no'}
      />
    </div>
  );
}

function PlaceLink({ place }: { readonly place: Place }): JSX.Element {
  return <a href={hashOf(place)}>{place.map(({ id }) => id).join(' / ')}</a>;
}

const trail = [
  ['edit', 'Last edit'],
  ['review_request', 'Review requested'],
  ['review', 'Reviewed'],
  ['signature', 'Signed'],
] as const;

/** Who did what, and when; and the comments. */
function Trail({ read }: { readonly read: (key: string) => string | undefined }): JSX.Element {
  const rows = trail.flatMap(([key, label]) => {
    const by = read(`last_${key}_by`);
    const date = new Date(read(`last_${key}_date`) ?? '');
    return by === undefined ? [] : [{ key, label, by, date }];
  });
  const comments = (['editor', 'reviewer'] as const).flatMap((who) => {
    const text = read(`last_${who}_comment`);
    return text === undefined || text === '' ? [] : [{ who, text }];
  });
  return (
    <dl class="trail">
      {rows.map(({ key, label, by, date }) => (
        <div key={key}>
          <dt>{label}</dt>
          <dd>
            <Principal id={by} /> <span class="quiet">{Number.isNaN(date.getTime()) ? '' : date.toLocaleString()}</span>
          </dd>
        </div>
      ))}
      {comments.map(({ who, text }) => (
        <div key={who}>
          <dt>Comment of the {who}</dt>
          <dd>{text}</dd>
        </div>
      ))}
    </dl>
  );
}

interface StepsProps {
  readonly place: Place;
  readonly object: StoredObject;
  readonly state: ReviewState;
  readonly reload: () => void;
}

/** The actions that the status allows. */
function Steps({ place, object, state, reload }: StepsProps): JSX.Element {
  const { api, service } = useApp();
  const [comment, setComment] = useState('');
  const { error, isBusy, attempt } = useAttempt();
  const path = pathOf(place);
  const work = useWork(`${service.userId ?? ''}.review.${path}`, { text: comment, original: '', etag: object.etag });
  const actions = possibleActions(state);
  const run = (action: ReviewAction): Promise<void> =>
    attempt(async () => {
      if (action.isDangerous === true && !(await isMeant(action))) return;
      const data = {
        status: action.to,
        ...(action.comment === undefined || comment === '' ? {} : { [action.comment]: comment }),
      };
      const { status } = await api.request('PATCH', path, {
        body: JSON.stringify({ data }),
        // Records that change in the meantime change the collection too: only what was seen is approved.
        headers: { 'If-Match': object.etag },
        allowed: [412],
      });
      reload();
      if (status === 412) throw new Error('The collection has changed in the meantime. Look at the changes again.');
      work.finish();
      setComment('');
      say(`${action.label}: done.`);
    });
  const hasComment = actions.some((action) => action.comment !== undefined);
  return (
    <>
      <DraftNote work={work} etag={object.etag} onRestore={setComment} />
      {hasComment ? (
        <Field label="Comment">
          {(attributes) => (
            <textarea
              {...attributes}
              rows={2}
              maxLength={10_000}
              value={comment}
              onInput={(event) => setComment(event.currentTarget.value)}
            />
          )}
        </Field>
      ) : null}
      <ul class="steps">
        {actions.map((action) => {
          const refusal = refusalOf(action, state);
          return (
            <li key={action.name}>
              <Button
                class={action.isDangerous === true ? 'danger' : ''}
                disabled={isBusy || refusal !== undefined}
                onClick={() => run(action)}
              >
                {action.label}
              </Button>
              <span class="quiet">{refusal ?? `${action.effect}.`}</span>
            </li>
          );
        })}
      </ul>
      <FailureNote error={error} />
    </>
  );
}

function isMeant(action: ReviewAction): Promise<boolean> {
  return ask({
    title: `${action.label}?`,
    text: 'All changes since the last signature are discarded. Records and preview get the signed content.',
    yes: action.label,
    no: 'Keep the changes',
  });
}

interface RightsProps {
  readonly route: ReviewRoute;
  readonly members: Members | undefined;
  readonly state: ReviewState;
  /** Whether the user may write the collection, which all actions require, as far as it is known. */
  readonly mayWrite: 'yes' | 'with write permission' | 'no';
}

/** Lists the actions of a review, and the users who may take them. */
function Rights({ route, members, state, mayWrite }: RightsProps): JSX.Element {
  const who = {
    editors: (
      <>
        members of <GroupLink principal={route.editors} members={members?.editors} />
      </>
    ),
    reviewers: (
      <>
        members of <GroupLink principal={route.reviewers} members={members?.reviewers} />
        {route.isReviewed ? ', except the user who requested the review' : ''}
      </>
    ),
    writers: 'users with write permission',
  };
  const answer = (action: ReviewAction): string => {
    if (mayWrite === 'no' || action.who === 'writers') return mayWrite;
    const isMember = action.who === 'editors' ? state.isEditor : state.isReviewer;
    return isMember === undefined ? 'unknown' : refusalOf(action, state) === undefined ? 'yes' : 'no';
  };
  return (
    <section class="panel" aria-label="Permitted actions">
      <h2>Permitted actions</h2>
      <Scroll label="Actions and their users">
        <table class="rights">
          <caption class="hidden">Permitted actions</caption>
          <thead>
            <tr>
              <th scope="col">action</th>
              <th scope="col">allowed to</th>
              <th scope="col">you</th>
            </tr>
          </thead>
          <tbody>
            {actionsOf(route.isReviewed).map((action) => (
              <tr key={action.name}>
                <th scope="row">{action.label}</th>
                <td>{who[action.who]}</td>
                <td>{answer(action)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </section>
  );
}

function GroupLink({
  principal,
  members,
}: {
  readonly principal: string;
  readonly members: readonly string[] | undefined;
}): JSX.Element {
  const { bucket = '', group = '' } = groupOf(principal) ?? {};
  const at: Place = [
    { kind: kinds.bucket, id: bucket },
    { kind: kinds.group, id: group },
  ];
  return (
    <>
      <a href={hashOf(at, { _tab: 'members' })}>{group}</a>
      {members === undefined ? '' : ` (${members.length})`}
    </>
  );
}
