// The state machine of a source collection: what clients may set its attribute `status` to, from where, who may, and what
// happens then. A table and a function over it; nothing here reads or writes anything.
import type { JsonValue } from '../../base/json.ts';

/** What happens when a client has set the status. */
export type Step =
  /** Nothing but the status changes. */
  | 'edit'
  /** A review ends without approval. */
  | 'reject'
  /** The records go to the preview. */
  | 'requestReview'
  /** The records go to preview and destination. */
  | 'approve'
  /** Preview and destination are signed again as they are. */
  | 'resign'
  /** The records of the destination come back to source and preview. */
  | 'rollBack';

interface Rule {
  readonly to: string;
  /** Statuses from which it may be set; absent: any, no status included. */
  readonly from?: readonly string[];
  readonly notFrom?: readonly string[];
  /** Whether the rule is for collections with reviews or for those without; absent: for all. */
  readonly isReviewed?: boolean;
  readonly group?: 'editors' | 'reviewers';
  /** Whether whoever has asked for the review is left out. */
  readonly notRequester?: boolean;
  readonly step: Step;
}

/** For each status the first rule that is meant for the collection and the present status decides. */
const rules: readonly Rule[] = [
  { to: 'work-in-progress', from: ['to-review'], step: 'reject' },
  { to: 'work-in-progress', step: 'edit' },
  { to: 'to-review', from: ['work-in-progress'], isReviewed: true, group: 'editors', step: 'requestReview' },
  { to: 'to-review', from: ['work-in-progress'], isReviewed: false, step: 'requestReview' },
  {
    to: 'to-sign',
    from: ['to-review'],
    isReviewed: true,
    group: 'reviewers',
    notRequester: true,
    step: 'approve',
  },
  { to: 'to-sign', notFrom: ['signed'], isReviewed: false, step: 'approve' },
  { to: 'to-resign', step: 'resign' },
  { to: 'to-rollback', notFrom: ['signed'], step: 'rollBack' },
];

export interface StatusChange {
  /** The present status; `undefined` for collections that never had one. */
  readonly from: string | undefined;
  /** What the client has set; `undefined` when it has taken the status away. */
  readonly to: JsonValue | undefined;
  /** Whether signing takes a review. */
  readonly isReviewed: boolean;
  readonly isEditor: boolean;
  readonly isReviewer: boolean;
  /** Whether it was this user who asked for the review. */
  readonly isRequester: boolean;
}

export type Decision =
  | { readonly kind: 'step'; readonly step: Step }
  | { readonly kind: 'invalid'; readonly message: string }
  | { readonly kind: 'forbidden'; readonly message: string };

/** What a change of status leads to, or why it is refused; who may not do it at all is told so first. */
export function decide(change: StatusChange): Decision {
  const { from, to, isReviewed } = change;
  if (to === undefined) return invalid('The status cannot be taken away.');
  const meant = rules.filter((rule) => rule.to === to && (rule.isReviewed ?? isReviewed) === isReviewed);
  if (meant.length === 0) return invalid(`The status cannot be set to ${JSON.stringify(to)}.`);
  const refused = meant.find((rule) => !isMember(rule, change));
  if (refused !== undefined) return { kind: 'forbidden', message: `This takes a member of the ${refused.group}.` };
  const rule = meant.find(({ from: froms, notFrom }) =>
    froms === undefined ? notFrom?.includes(from ?? '') !== true : froms.includes(from ?? ''),
  );
  if (rule === undefined) {
    return invalid(`The status cannot be set to ${JSON.stringify(to)} while it is ${JSON.stringify(from ?? null)}.`);
  }
  if (rule.notRequester === true && change.isRequester) {
    return { kind: 'forbidden', message: 'Who has asked for a review cannot approve it.' };
  }
  return { kind: 'step', step: rule.step };
}

function isMember({ group }: Rule, { isEditor, isReviewer }: StatusChange): boolean {
  return group === undefined || (group === 'editors' ? isEditor : isReviewer);
}

function invalid(message: string): Decision {
  return { kind: 'invalid', message };
}
