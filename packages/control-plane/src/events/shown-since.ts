const SHOWN_DAYS = 90;

export const shownSince = (now: Date): Date => new Date(now.getTime() - SHOWN_DAYS * 86_400_000);
