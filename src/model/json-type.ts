const JSON_TYPE = /[/+]json\s*(;|$)/i;

/** Whether a body of this content type may be JSON; a missing content type may be. */
export function mayBeJson(contentType: string | undefined): boolean {
  return contentType === undefined || contentType.trim() === "" || JSON_TYPE.test(contentType);
}
