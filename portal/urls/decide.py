"""Addresses of the frame and of the decisions: login, home, pitches, queue, split, grants, projects."""

from django.contrib.auth import views as auth
from django.urls import URLPattern, URLResolver, path

from portal.views import demo, grants, home, jump, login, notices, pitch_form, pitches, projects, queue, splits

urlpatterns: list[URLPattern | URLResolver] = [
    path("", home.home, name="home"),
    path("jump/", jump.jump, name="jump"),
    path("login/", login.LogIn.as_view(), name="login"),
    path("logout/", auth.LogoutView.as_view(), name="logout"),
    path("password/", login.ChangePassword.as_view(), name="password_change"),
    path("demo/become/", demo.become, name="become"),
    path("pitches/", pitches.pitches, name="pitches"),
    path("pitches/new/", pitch_form.pitch_new, name="pitch_new"),
    path("pitches/autosave/", pitch_form.pitch_autosave, name="pitch_autosave"),
    path("pitches/outlook/", pitch_form.pitch_outlook, name="pitch_outlook"),
    path("pitches/<uuid:public_id>/", pitches.pitch, name="pitch"),
    path("pitches/<uuid:public_id>/edit/", pitch_form.pitch_edit, name="pitch_edit"),
    path("pitches/<uuid:public_id>/submit/", pitches.pitch_submit, name="pitch_submit"),
    path("pitches/<uuid:public_id>/resubmit/", pitches.pitch_resubmit, name="pitch_resubmit"),
    path("pitches/<uuid:public_id>/withdraw/", pitches.pitch_withdraw, name="pitch_withdraw"),
    path("pitches/<uuid:public_id>/sign/", queue.pitch_sign, name="pitch_sign"),
    path("queue/", queue.queue, name="queue"),
    path("queue/<uuid:public_id>/", queue.queue_item, name="queue_item"),
    path("split/", splits.split, name="split"),
    path("split/preview/", splits.split_preview, name="split_preview"),
    path("split/propose/", splits.split_propose, name="split_propose"),
    path("split/<uuid:public_id>/sign/", splits.split_sign, name="split_sign"),
    path("split/<uuid:public_id>/withdraw/", splits.split_withdraw, name="split_withdraw"),
    path("inbox/", notices.inbox, name="inbox"),
    path("inbox/read/", notices.inbox_read, name="inbox_read"),
    path("inbox/preferences/", notices.inbox_preferences, name="inbox_preferences"),
    path("inbox/<int:pk>/open/", notices.notice_open, name="notice_open"),
    path("grants/", grants.grants, name="grants"),
    path("grants/<uuid:public_id>/", grants.grant, name="grant"),
    path("grants/<uuid:public_id>/end/", grants.grant_end, name="grant_end"),
    path("projects/", projects.projects, name="projects"),
    path("projects/<slug:slug>/", projects.project, name="project"),
    path("projects/<slug:slug>/wind-down/", projects.project_wind_down, name="project_wind_down"),
    path("projects/<slug:slug>/resume/", projects.project_resume, name="project_resume"),
    path("projects/<slug:slug>/end/", projects.project_end, name="project_end"),
]
